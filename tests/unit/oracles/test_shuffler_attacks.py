"""What whoever sees mixed reports tries beyond reading them: friends among the parties, many requests, parties that repeat.

Each attack first succeeds where nothing stands against it, and is then refused or bounded.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.ledger import MemoryLedger
from localdp.accounting.promise_ledger import MemoryPromiseLedger, Outlay
from localdp.accounting.shuffling import largest_local
from localdp.cohorts import Asked, Cohort, Split
from localdp.domains import Records
from localdp.errors import BudgetExhausted, PolicyRefused, RequestExpired, TooFewReports
from localdp.oracles.lr import InProcessLROracle
from localdp.oracles.promise import Promise
from localdp.oracles.shuffled import ShuffledOracle
from localdp.oracles.shuffler import Shuffler
from localdp.party.party import Draw, Party, Request
from localdp.party.policy import Policy
from localdp.randomizers.definition import Reports, Values
from localdp.randomizers.one_bit import OneBitRandomizer
from localdp.randomness.hazmat import SeededSource
from tests.support.people import KEYRING, ONE, PLENTY, population

PEOPLE = population(2000)
LARGEST = Epsilon.requested(30)


class Telling(Party):
    """A party that remembers what it sent, for the aggregator."""

    def __init__(self, *arguments: object, **named: object) -> None:
        super().__init__(*arguments, **named)  # type: ignore[arg-type]
        self.sent = 0

    def charged(self, request: Request, cohort: Cohort, caller: str = "") -> Draw:
        draw = super().charged(request, cohort, caller)

        def told(part: Asked, values: Values) -> Reports:
            reports = draw.made(part, values)
            self.sent += int(np.count_nonzero(reports))
            return reports

        return replace(draw, made=told)


def party(number: int, records: Records, kind: type[Party] = Party, policy: Policy | None = None) -> Party:
    ledger = MemoryLedger(records.people, PLENTY)
    secret, allowed = KEYRING.party(number), policy or Policy(largest_epsilon=LARGEST)
    return kind(f"party-{number}", records, secret, ledger, allowed)


def alone_among(many: Telling, few: Records, promise: Promise | None) -> Shuffler:
    return Shuffler(InProcessLROracle([party(0, few), many]), SeededSource(1), promise)


def asked(number: int, epsilon: Epsilon | str = ONE) -> Request:
    return Request(b"request %08d" % number, "smoker", OneBitRandomizer(Epsilon.requested(epsilon)))


def counted(mixer: Shuffler, request: Request, cohort: Cohort) -> int:
    return sum(int(np.count_nonzero(part)) for part in mixer.reports(request, cohort))


def test_a_party_that_tells_what_it_sent_leaves_nobody_to_hide_among() -> None:
    # One person, and 1,999 who tell: of 100 reports with eps0 = 4.11 all but some 2 are the truth.
    right, everybody = 0, Cohort(0, 2000)
    local = str(largest_local(2000, ONE, 1e-6, "binary"))
    many = Telling(
        "party-1", PEOPLE.slice(1, 2000), KEYRING.party(1), MemoryLedger(1999, PLENTY), Policy(LARGEST)
    )
    truth = bool(PEOPLE.column("smoker")[0])
    mixer = alone_among(many, PEOPLE.slice(0, 1), Promise(ONE, requests=100))
    for number in range(100):
        many.sent = 0
        right += (counted(mixer, asked(number, local), everybody) - many.sent == 1) is truth
    assert right >= 90  # (1, 1e-6) allows 73.1 % to guess right
    with pytest.raises(TooFewReports, match="not counting the 1 largest"):
        counted(alone_among(many, PEOPLE.slice(0, 1), Promise(ONE, colluding=1)), asked(0), everybody)


def two_parties(promise: Promise | None) -> Shuffler:
    parties = [party(0, PEOPLE.slice(0, 500)), party(1, PEOPLE.slice(500, 2000))]
    return Shuffler(InProcessLROracle(parties), SeededSource(1), promise)


def local_of(mixer: Shuffler, *queries: str, cohort: Cohort | None = None) -> Epsilon:
    oracle = ShuffledOracle(mixer, ONE, SeededSource(2), cohort)
    return Epsilon.requested(oracle.plan(queries).rows[0].how.split("epsilon=")[1].split(",")[0])


def test_where_parties_may_collude_people_hide_among_the_others_alone() -> None:
    mixer = two_parties(Promise(ONE, colluding=1))
    assert mixer.hiding == 500
    assert local_of(mixer, "smoker") == largest_local(500, ONE, 1e-6, "binary")
    assert local_of(two_parties(Promise(ONE)), "smoker") == largest_local(2000, ONE, 1e-6, "binary")
    everybody = Cohort(0, 2000)
    counted(mixer, asked(0, str(largest_local(500, ONE, 1e-6, "binary"))), everybody)
    with pytest.raises(TooFewReports):
        counted(mixer, asked(1, "2.9"), everybody)
    counted(two_parties(Promise(ONE)), asked(1, "2.9"), everybody)


def test_of_part_of_the_people_all_may_be_with_those_who_collude() -> None:
    mixer = two_parties(Promise(ONE, colluding=1))
    assert local_of(mixer, "smoker", cohort=Cohort(0, 1900)) == largest_local(400, ONE, 1e-6, "binary")
    assert local_of(mixer, "smoker", cohort=Cohort(500, 2000)) == ONE
    with pytest.raises(TooFewReports):
        counted(mixer, asked(0), Cohort(500, 2000))


def test_an_oracle_behind_colluding_parties_asks_what_the_shuffler_grants() -> None:
    mixer = two_parties(Promise(ONE, colluding=1))
    oracle = ShuffledOracle(mixer, ONE, SeededSource(3))
    assert oracle.answer(["smoker"])[0].reports == 2000
    assert sum(answer.reports for answer in oracle.answer(["smoker", "age >= 65"])) == 2000


@pytest.mark.parametrize(
    ("promise", "told"),
    [
        (None, "the other parties must not tell the analyst what they sent"),
        (Promise(ONE), "the other parties must not tell the analyst what they sent"),
        (Promise(ONE, colluding=1), "no more than 1 of the other parties may tell the analyst"),
    ],
    ids=str,
)
def test_every_claim_says_what_it_assumes_of_the_other_parties(promise: Promise | None, told: str) -> None:
    assert told in ShuffledOracle(two_parties(promise), ONE, SeededSource(3)).claim.statement()


def test_a_claim_of_a_shuffler_in_this_process_excepts_whoever_runs_it() -> None:
    claim = ShuffledOracle(two_parties(None), ONE, SeededSource(3)).claim
    assert "anybody but whoever runs this process" in claim.statement()


def votes(mixer: Shuffler, about: Cohort, most: int = 60) -> list[bool]:
    """The reports of a cohort of one, again and again, until they are refused."""
    seen: list[bool] = []
    try:
        for number in range(most):
            seen += [bool(bit) for part in mixer.reports(asked(number), about) for bit in part]
    except (BudgetExhausted, TooFewReports):
        pass
    return seen


def test_nobody_is_asked_alone_however_private_the_report_is() -> None:
    assert len(votes(two_parties(None), Cohort(77, 78))) == 60
    assert votes(two_parties(Promise(ONE)), Cohort(77, 78)) == []


def test_requests_about_a_person_add_up_to_the_total_and_no_further() -> None:
    # Each has other people beside the one that it is after, and all of them have that one.
    mixer = two_parties(Promise(ONE, requests=3, minimum_cohort=2))
    for number in range(3):
        counted(mixer, asked(number), Cohort(77 - number, 79))
    with pytest.raises(BudgetExhausted, match="epsilon 3 at delta 3e-06"):
        counted(mixer, asked(3), Cohort(77, 80))
    counted(mixer, asked(2), Cohort(75, 79))  # the same request again tells nothing new
    counted(mixer, asked(3), Cohort(79, 82))


def test_a_request_is_booked_at_the_promise_or_at_a_single_report_with_every_person_of_every_party() -> (
    None
):
    ledger = MemoryPromiseLedger(ONE * 2, Fraction(1))
    parties = [party(0, PEOPLE.slice(0, 500)), party(1, PEOPLE.slice(500, 2000))]
    mixer = Shuffler(InProcessLROracle(parties), SeededSource(1), Promise(ONE), ledger)
    half = asked(0, "0.5")
    counted(mixer, half, Cohort(400, 600))
    counted(mixer, asked(1, str(largest_local(2000, ONE, 1e-6, "binary"))), Cohort(0, 2000))
    both = half.randomizer.epsilon.nanonats + ONE.nanonats
    assert ledger.spent("party-0", 500).tolist() == [[ONE.nanonats] * 400 + [both] * 100, [10**6] * 500]
    assert ledger.spent("party-1", 1500).tolist() == [
        [both] * 100 + [ONE.nanonats] * 1400,
        [10**6] * 1500,
    ]


def test_whoever_is_not_asked_in_a_random_part_does_not_pay_for_it() -> None:
    mixer = two_parties(Promise(ONE, requests=1))
    halves = [Cohort(0, 2000, Split(bytes(16), 2, half)) for half in (0, 1)]
    for number, half in enumerate(halves):
        counted(mixer, asked(number), half)
    with pytest.raises(BudgetExhausted):
        counted(mixer, asked(2), halves[0])


def test_what_is_refused_charges_nobody() -> None:
    parties = [party(0, PEOPLE)]
    mixer = Shuffler(InProcessLROracle(parties), SeededSource(1), Promise(ONE, requests=1))
    counted(mixer, asked(0), Cohort(0, 1000))
    before = parties[0].ledger.spent()
    with pytest.raises(BudgetExhausted):
        counted(mixer, asked(1), Cohort(999, 2000))
    assert (parties[0].ledger.spent() == before).all()


class Forgetful(InProcessLROracle):
    """One that does not say which parties answer by content."""

    @property
    def by_content(self) -> tuple[str, ...]:
        return ()


class Careless(Party):
    """One that lets its reports be mixed whatever its policy is."""

    def _require_mixable(self) -> None:
        pass


def test_parties_that_answer_by_content_give_away_who_is_left_out() -> None:
    policy = Policy(largest_epsilon=LARGEST, by_content=True)
    careless = party(0, PEOPLE, Careless, policy)
    mixer = Shuffler(Forgetful([careless]), SeededSource(1), Promise(ONE))
    local = str(largest_local(1999, ONE, 1e-6, "binary"))
    ones = [counted(mixer, asked(number, local), Cohort(0, 2000 - number)) for number in range(2)]
    single = InProcessLROracle([party(0, PEOPLE, policy=policy)])
    (report,) = next(iter(single.reports(asked(7, local), Cohort(1999, 2000))))
    assert ones[0] - ones[1] == int(report)  # the very report, at eps0 = 4.11


@pytest.mark.parametrize("promise", [None, Promise(ONE)], ids=str)
def test_no_shuffler_stands_in_front_of_a_party_that_answers_by_content(promise: Promise | None) -> None:
    policy = Policy(largest_epsilon=LARGEST, by_content=True)
    parties = [party(0, PEOPLE.slice(0, 1000)), party(1, PEOPLE.slice(1000, 2000), policy=policy)]
    with pytest.raises(PolicyRefused, match="party-1 answers by content"):
        Shuffler(InProcessLROracle(parties), SeededSource(1), promise)


def test_a_party_that_begins_to_answer_by_content_is_not_mixed_any_more() -> None:
    holder = party(0, PEOPLE)
    mixer = Shuffler(InProcessLROracle([holder]), SeededSource(1))
    everybody = Cohort(0, PEOPLE.people)
    counted(mixer, asked(0), everybody)
    holder.policy = Policy(
        largest_epsilon=LARGEST, by_content=True
    )  # as after a restart, which no shuffler notices
    spent = holder.ledger.spent()
    with pytest.raises(PolicyRefused):
        counted(mixer, asked(1), everybody)
    assert (holder.ledger.spent() == spent).all()


class KnowsNamesAlone(MemoryPromiseLedger):
    """One that knows a request by its name, and not by what was mixed under it."""

    def charge(self, outlay: Outlay) -> None:
        super().charge(replace(outlay, reports=b""))


def after_restores(ledger: MemoryPromiseLedger) -> list[int]:
    """What one request tells, asked again after each of three restores of one of its parties; all that is answered."""
    promise, seen = Promise(ONE, requests=1), list[int]()
    parties = [party(0, PEOPLE.slice(0, 500)), party(1, PEOPLE.slice(500, 2000))]
    mixer = Shuffler(InProcessLROracle(parties), SeededSource(1), promise, ledger)
    for _ in range(4):
        for _ in range(2):
            seen.append(counted(mixer, asked(0), Cohort(0, 2000)))
        restored = parties[1]  # a backup knows nothing of the request, and another epoch has other coins
        restored.ledger = MemoryLedger(restored.people, PLENTY)
        restored.enter(restored.epoch.next(restored.records))
    return seen


def test_a_request_is_not_mixed_anew_after_one_of_its_parties_was_restored() -> None:
    totals = ONE, Fraction(1)
    told = after_restores(KnowsNamesAlone(*totals))
    assert len(set(told)) > 1 and told[0::2] == told[1::2]  # four draws for the price of one
    ledger = MemoryPromiseLedger(*totals)
    with pytest.raises(RequestExpired, match="new request") as refused:
        after_restores(ledger)
    assert "party-1" not in str(refused.value)
    assert (ledger.spent("party-1", 1500)[0] == ONE.nanonats).all()
