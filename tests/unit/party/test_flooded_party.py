"""A party in flooded rounds: its owner accepts them or not, and everybody pays once."""

from fractions import Fraction

import numpy as np
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.ledger import MemoryLedger
from localdp.cohorts import Cohort
from localdp.domains import Records
from localdp.errors import BudgetExhausted, InvalidParameter, LocalDpError, PolicyRefused
from localdp.party.party import Party
from localdp.party.policy import Policy
from localdp.sharing.flooded_round import FloodedRound
from tests.support.flooding import plan_of, question_of, round_at
from tests.support.people import KEYRING, ONE, population

PEOPLE = population(60)
PLAN = plan_of(100, 100)
ALL = Cohort(0, 60)
ACCEPTS = Policy(shuffler="mixer", largest_delta_flooded=Fraction(1, 1000))


def asked(number: int = 0, others: int = 40) -> FloodedRound:
    plan = PLAN if others == 40 else plan_of(60 + others)
    return round_at(question_of(plan, number=number), ("party-0", 60), ("party-1", others))


def party(policy: Policy = ACCEPTS, budget: Epsilon = ONE) -> Party:
    return Party("party-0", PEOPLE, KEYRING.party(0), MemoryLedger(60, budget), policy)


def sealed(one: Party, which: FloodedRound) -> bytes:
    batch = one.flooded(which, ALL, "mixer")(ALL)
    return batch.messages(0, len(batch)).tobytes()


def test_the_same_round_has_the_same_messages_and_is_paid_for_once() -> None:
    one = party()
    first = sealed(one, asked())
    assert one.ledger.spent().tolist() == [ONE.nanonats] * 60
    assert sealed(one, asked()) == first
    assert one.ledger.spent().tolist() == [ONE.nanonats] * 60
    with pytest.raises(BudgetExhausted):
        sealed(one, asked(number=1))


def test_a_lie_about_n_is_another_round_at_another_charge_with_other_messages() -> None:
    one = party(budget=ONE * 2)
    honest, lied = sealed(one, asked()), sealed(one, asked(others=400))
    assert one.ledger.spent().tolist() == [2 * ONE.nanonats] * 60
    keys = [{told[place : place + 32] for place in range(0, len(told), 51)} for told in (honest, lied)]
    assert not keys[0] & keys[1]


@pytest.mark.parametrize(
    ("policy", "caller", "why"),
    [
        (Policy(), "mixer", "policy.largest_delta_flooded"),
        (Policy(shuffler="mixer", largest_epsilon_shuffled=ONE), "mixer", "policy.largest_delta_flooded"),
        (ACCEPTS, "analyst", "only the shuffler that its owner named"),
        (Policy(largest_delta_flooded=Fraction(1, 1000)), "mixer", "only the shuffler"),
        (Policy(shuffler="mixer", largest_delta_flooded=Fraction(1, 1001)), "mixer", "delta 0.001"),
        (
            Policy(shuffler="mixer", largest_delta_flooded=Fraction(1, 10), by_content=True),
            "mixer",
            "by content",
        ),
        (
            Policy(Epsilon.requested("0.5"), shuffler="mixer", largest_delta_flooded=Fraction(1, 10)),
            "mixer",
            "allows 0.5",
        ),
        (
            Policy(shuffler="mixer", largest_delta_flooded=Fraction(1, 10), columns=frozenset({"age"})),
            "mixer",
            "column",
        ),
        (Policy(shuffler="mixer", largest_delta_flooded=Fraction(1, 10), minimum_cohort=61), "mixer", "61"),
    ],
)
def test_what_the_owner_does_not_accept_is_refused_and_charges_nothing(
    policy: Policy, caller: str, why: str
) -> None:
    one = party(policy)
    for ask in (one.flooded, one.granted_flooded):
        with pytest.raises(PolicyRefused, match=why):
            ask(asked(), ALL, caller)
    assert not one.ledger.spent().any()


@pytest.mark.parametrize("cohort", [Cohort(0, 59), Cohort(1, 61), Cohort(0, 100)])
def test_people_whom_the_round_does_not_name_are_refused(cohort: Cohort) -> None:
    one = party()
    with pytest.raises(InvalidParameter, match="not a part"):
        one.flooded(asked(), cohort, "mixer")
    assert not one.ledger.spent().any()


def test_a_round_of_another_party_is_refused() -> None:
    one = Party("party-2", PEOPLE, KEYRING.party(0), MemoryLedger(60, ONE), ACCEPTS)
    with pytest.raises(LocalDpError, match="not a part"):
        one.granted_flooded(asked(), ALL, "mixer")


def test_a_quote_is_the_price() -> None:
    assert party().granted_flooded(asked(), ALL, "mixer") == ONE


def test_messages_have_one_length_whatever_the_records_say() -> None:
    lengths = set()
    for ones in (0, 30, 60):
        columns = {name: PEOPLE.column(name) for name in PEOPLE.schema.names}
        records = Records.from_columns(PEOPLE.schema, {**columns, "smoker": np.arange(60) < ones})
        one = Party("party-0", records, KEYRING.party(0), MemoryLedger(60, ONE), ACCEPTS)
        lengths.add(len(sealed(one, asked())))
    assert lengths == {51 * PLAN.size(60)}
