"""A party that is asked whether it would answer: as it would, at no charge, and telling nobody whose rows are whose."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.ledger import MemoryLedger
from localdp.cohorts import Cohort, Split
from localdp.domains import Ownership
from localdp.errors import BudgetExhausted, LocalDpError
from localdp.party.party import Party, Request
from localdp.party.policy import Policy
from localdp.randomizers.definition import LocalRandomizer
from localdp.randomizers.k_ary import KaryRandomizedResponse
from localdp.randomizers.memoised import memoised_optimized_unary
from localdp.randomizers.one_bit import OneBitRandomizer
from localdp.sharing.collection import Collection
from localdp.sharing.encoding import Encoding
from localdp.sharing.noise_plans import NoisePlan
from tests.support.federations import KEYRING, ONE, collection_of, people

PLENTIFUL = Epsilon.requested(10)
PEOPLE = 24
EVERYBODY = Cohort(0, PEOPLE)
HALF = Epsilon.requested("0.5")
STRICT = Policy(
    largest_epsilon=ONE,
    minimum_cohort=3,
    minimum_batch=4,
    columns=frozenset({"smoker", "region"}),
    aggregators=frozenset({"analyst"}),
    colluding_servers=1,
)
POLICIES = {
    "strict": STRICT,
    "by content": replace(STRICT, by_content=True),
    "lenient": Policy(largest_epsilon=PLENTIFUL),
    "rows have shares": replace(STRICT, most_rows=2),
}


def party(policy: Policy, owners: list[int] | None = None) -> Party:
    """A party of a small budget; with owners each row answers, on its own share of the budget."""
    ownership = None if owners is None else Ownership(np.array(owners), "each")
    ledger = MemoryLedger(PEOPLE, ONE * 3)
    return Party("party-0", people(PEOPLE), KEYRING.party(0), ledger, policy, ownership)


def requests(random: np.random.Generator) -> Iterator[tuple[Request, Cohort, str]]:
    """Sound ones, repeated ones, and such that a policy or a ledger refuses."""
    randomizers: tuple[tuple[str, LocalRandomizer], ...] = (
        *(("smoker", OneBitRandomizer(Epsilon(HALF.nanonats + more))) for more in range(9)),
        ("smoker", OneBitRandomizer(ONE * 2)),
        ("region", KaryRandomizedResponse(HALF, 4)),
        ("region", memoised_optimized_unary(ONE, HALF, 4)),
        ("age >= 65", OneBitRandomizer(HALF)),
        ("smokr", OneBitRandomizer(HALF)),
    )
    for _ in range(150):
        query, randomizer = randomizers[int(random.choice(14, p=[*[0.05] * 10, 0.2, 0.2, 0.05, 0.05]))]
        start, stop = sorted(int(edge) for edge in random.integers(0, PEOPLE + 1, 2))
        split = Split(bytes(16), 2, int(random.integers(2))) if random.random() < 0.2 else None
        identifier = int(random.integers(12)).to_bytes(16, "big")
        cohort = Cohort(start, stop + (random.random() < 0.05), split)
        yield (
            Request(identifier, query, randomizer),
            cohort,
            "analyst" if random.random() < 0.9 else "mallory",
        )


def outcome(act: Callable[[], object]) -> tuple[str, str]:
    try:
        act()
    except LocalDpError as error:
        return type(error).__name__, str(error)
    return "", ""


@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES)
def test_a_request_is_granted_exactly_if_it_is_answered_and_refused_in_the_same_words(
    policy: Policy,
) -> None:
    asked = party(policy, [row // 2 for row in range(PEOPLE)] if policy.most_rows > 1 else None)
    seen = set()
    for request, cohort, caller in requests(np.random.default_rng(5)):
        before = asked.ledger.spent()
        told = outcome(lambda: asked.granted(request, cohort, caller))  # noqa: B023
        assert (asked.ledger.spent() == before).all()
        assert told == outcome(lambda: asked.charged(request, cohort, caller))  # noqa: B023
        seen.add(told[0])
    assert seen >= {"", "BudgetExhausted", "QueryRefused", "UnknownIndex"}
    assert ("PolicyRefused" in seen) == (policy.aggregators is not None)


def collections(one: Party) -> list[Collection]:
    return [
        collection_of([one], 1, minimum_batch=4),
        collection_of([one], 2, minimum_batch=4, epsilon=ONE * 2),
        collection_of([one], 3, minimum_batch=2),
        collection_of([one], 4, minimum_batch=4, plan=NoisePlan.divided(0)),
        collection_of([one], 5, minimum_batch=4, query="age >= 65"),
        collection_of([one], 6, minimum_batch=4, encoding=Encoding.sum(8)),
        *(collection_of([one], number, minimum_batch=4) for number in (7, 8, 9, 1)),
    ]


def test_a_collection_is_granted_exactly_if_it_is_contributed_to() -> None:
    asked, stranger = party(STRICT), party(STRICT)
    stranger.name = "party-1"
    seen = []
    for collection in [*collections(asked), *collections(stranger)]:
        before = asked.ledger.spent()
        told = outcome(lambda: asked.granted_shares(collection, EVERYBODY, "analyst"))  # noqa: B023
        assert (asked.ledger.spent() == before).all()
        assert told == outcome(lambda: asked.shared(collection, EVERYBODY, "analyst"))  # noqa: B023
        seen.append(told[0])
    assert set(seen) == {"", "PolicyRefused", "InvalidParameter", "BudgetExhausted"}
    assert seen[9] == ""  # it was paid for, when there was budget


def test_a_quote_is_the_price_whether_somebody_has_paid_or_not() -> None:
    asked = party(Policy(largest_epsilon=PLENTIFUL))
    bit, memoised = OneBitRandomizer(HALF), memoised_optimized_unary(ONE, HALF, 4)
    priced = (("smoker", bit, bit.epsilon), ("region", memoised, memoised.epsilon_permanent))
    for query, randomizer, price in priced:
        request = Request(bytes(16), query, randomizer)
        assert asked.granted(request, EVERYBODY) == price
        asked.charged(request, Cohort(0, 5))
        assert asked.granted(request, EVERYBODY) == asked.granted(request, Cohort(0, 5)) == price


@pytest.mark.parametrize("by_content", [False, True])
def test_what_was_paid_for_is_granted_when_nothing_is_left(by_content: bool) -> None:
    asked = party(Policy(largest_epsilon=PLENTIFUL, by_content=by_content))
    paid = [Request(bytes([n] * 16), f"age >= {n + 1}", OneBitRandomizer(ONE)) for n in range(3)]
    for request in paid:
        asked.charged(request, EVERYBODY)
    for request in paid:
        assert asked.granted(request, EVERYBODY, "another")
    again = replace(paid[0], request_id=b"another identifier")
    if by_content:
        assert asked.granted(again, EVERYBODY)
    else:
        with pytest.raises(BudgetExhausted):
            asked.granted(again, EVERYBODY)


def told(owners: list[int], ask: Callable[[Party, Request, Cohort], object]) -> list[tuple[str, str]]:
    """What is said about all ranges of rows, before and after the budget of row 0 is gone."""
    lenient = Policy(largest_epsilon=PLENTIFUL, most_rows=PEOPLE)
    asked, answers = party(lenient, owners), []
    ranges = [Cohort(i, j) for i in range(PEOPLE) for j in range(i + 1, PEOPLE + 1)]
    for number in range(4):
        request = Request(bytes([number] * 16), "smoker", OneBitRandomizer(ONE))
        asked.policy = replace(lenient, minimum_cohort=2, most_rows=3)
        answers += [outcome(lambda: ask(asked, request, cohort)) for cohort in ranges]  # noqa: B023
        asked.policy = lenient
        if number < 3:
            asked.charged(request, Cohort(0, 1))
    return answers


@pytest.mark.parametrize("ask", [Party.granted, Party.charged], ids=["quote", "request"])
def test_neither_a_quote_nor_a_request_tells_whose_the_rows_are(
    ask: Callable[[Party, Request, Cohort], object],
) -> None:
    ownerships = [[row // each for row in range(PEOPLE)] for each in (1, 2, 3, 24)]
    answers = [told(owners, ask) for owners in ownerships]
    assert answers[0] == answers[1] == answers[2] == answers[3]
    assert {one[0] for one in answers[0]} == {"", "PolicyRefused", "BudgetExhausted"}


@pytest.mark.parametrize("rows", [2, 3])
def test_a_quote_and_a_request_about_rows_refuse_alike(rows: int) -> None:
    asked = party(Policy(largest_epsilon=PLENTIFUL, most_rows=rows), [row // rows for row in range(PEOPLE)])
    for number, epsilon in enumerate((ONE * 2, ONE * 2, ONE)):
        request = Request(bytes([number] * 16), "smoker", OneBitRandomizer(epsilon))
        quoted = outcome(lambda: asked.granted(request, EVERYBODY))  # noqa: B023
        assert quoted == outcome(lambda: asked.charged(request, EVERYBODY))  # noqa: B023
        assert quoted[0] == ("BudgetExhausted" if number == 1 else "")


def test_a_quote_of_an_earlier_epoch_is_refused_whether_or_not_anything_changed() -> None:
    answers = []
    for later in (people(PEOPLE), people(PEOPLE + 1).slice(1, PEOPLE + 1)):
        asked = party(Policy(largest_epsilon=PLENTIFUL))
        request = Request(bytes(16), "smoker", OneBitRandomizer(HALF))
        asked.charged(request, EVERYBODY)
        asked.enter(asked.epoch.next(later))
        answers.append([outcome(lambda: ask(request, EVERYBODY)) for ask in (asked.granted, asked.charged)])  # noqa: B023
    assert answers[0] == answers[1]
    assert {kind for kind, _ in answers[0]} == {"RequestExpired"}
