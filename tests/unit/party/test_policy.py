"""The owner's rules, and what they promise: who may ask, about what, how many, and the same question once."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.ledger import MemoryLedger
from localdp.cohorts import Cohort, Split
from localdp.domains import Ownership, Records
from localdp.errors import InvalidParameter, PolicyRefused
from localdp.party.party import Party, Request
from localdp.party.policy import Policy, opening_text
from localdp.randomizers.finite_channel import FiniteChannel
from localdp.randomizers.k_ary import KaryRandomizedResponse
from localdp.randomizers.memoised import memoised_symmetric_unary
from localdp.randomizers.one_bit import OneBitRandomizer
from localdp.sharing.noise_plans import NoisePlan
from tests.support.federations import KEYRING, ONE, collection_of, people, request

PEOPLE = 60
EVERYBODY = Cohort(0, PEOPLE)
BUDGET = Epsilon.requested(20)
MEMOISED = memoised_symmetric_unary(Epsilon.requested(2), ONE, 4)


def party(policy: Policy, records: Records | None = None, ledger: MemoryLedger | None = None) -> Party:
    """A party with these rules."""
    records = records or people(PEOPLE)
    ledger = ledger or MemoryLedger(records.people, BUDGET)
    return Party("party-0", records, KEYRING.party(0), ledger, policy)


def refused(asked: Party, one: Request, cohort: Cohort = EVERYBODY, caller: str = "") -> None:
    """It is refused, and nobody has paid."""
    before = asked.ledger.spent()
    with pytest.raises(PolicyRefused):
        asked.charged(one, cohort, caller)
    assert (asked.ledger.spent() == before).all()


@pytest.mark.parametrize(
    "query",
    ["age >= 50", "smoker and age >= 50", "smoker or not (age < 3)", "true and age >= 0", "clip(age/120)"],
)
def test_a_hidden_column_is_refused_wherever_it_stands_in_the_query(query: str) -> None:
    hiding = party(Policy(columns=frozenset({"smoker"})))
    refused(hiding, request(1, query, resolution=8))
    assert len(hiding.randomize(request(1), EVERYBODY)) == PEOPLE


def test_a_hidden_column_is_refused_in_a_collection_too() -> None:
    hiding = party(Policy(columns=frozenset({"smoker"})))
    with pytest.raises(PolicyRefused):
        hiding.share(collection_of([hiding], query="age >= 50"), EVERYBODY)
    assert not hiding.ledger.spent().any()


@pytest.mark.parametrize(("plan", "withstood"), [("each-server", 2), ("divided(1)", 1), ("divided", 0)])
def test_a_noise_plan_that_withstands_too_few_colluding_servers_is_refused(
    plan: str, withstood: int
) -> None:
    for wanted in range(3):
        asked = party(Policy(colluding_servers=wanted))
        servers = tuple(f"server-{number}" for number in range(3))
        collection = collection_of([asked], plan=NoisePlan.parse(plan), servers=servers)
        if withstood >= wanted:
            assert len(asked.share(collection, EVERYBODY)) == 3
            continue
        with pytest.raises(PolicyRefused, match="noise plan must withstand"):
            asked.share(collection, EVERYBODY)
        assert not asked.ledger.spent().any()


def test_too_few_people_are_refused_however_the_cohort_is_described() -> None:
    shy = party(Policy(minimum_cohort=20))
    thin = Split(bytes(16), 4, 1)
    few = Cohort(0, PEOPLE, thin)
    assert few.size() < 20 < Cohort(0, PEOPLE, Split(bytes(16), 2, 1)).size()
    for cohort in (Cohort(0, 19), Cohort(5, 5), few):
        refused(shy, request(1), cohort)
    shy.randomize(request(1), Cohort(0, PEOPLE, Split(bytes(16), 2, 1)))
    refused(shy, request(1), few)  # nor as a part of those who answered already


def test_a_minimum_cohort_counts_as_few_people_as_the_rows_can_belong_to() -> None:
    # Whoever's rows they are: a count of the owners themselves would tell whose they are.
    policy = Policy(minimum_cohort=3, most_rows=10)
    for owners in (np.arange(PEOPLE), np.repeat(np.arange(6), 10)):
        ledger, ownership = MemoryLedger(PEOPLE, BUDGET), Ownership(owners, "each")
        shy = Party("party-0", people(PEOPLE), KEYRING.party(0), ledger, policy, ownership)
        refused(shy, request(1), Cohort(0, 20))  # twenty rows may be two people's
        assert len(shy.randomize(request(1), Cohort(0, 21))) == 21


def test_nobody_owns_more_rows_than_the_budget_was_divided_by() -> None:
    ownership = Ownership(np.repeat(np.arange(20), 3), "each")
    for most, fits in ((2, False), (3, True)):
        asked = party(Policy(most_rows=most))
        later = asked.epoch.next(people(PEOPLE), ownership)
        if fits:
            asked.enter(later)
            continue
        with pytest.raises(InvalidParameter, match="more than 2 rows"):
            asked.enter(later)
        assert asked.epoch.number == 1  # and answers from what it had


@pytest.mark.parametrize("caller", ["", "stranger", "Analyst", "analyst\0", "analyst "])
def test_only_named_aggregators_are_answered_also_for_what_another_was_told(caller: str) -> None:
    loyal = party(Policy(aggregators=frozenset({"analyst", "auditor"})))
    told = loyal.charged(request(1), EVERYBODY, "analyst")(EVERYBODY)
    refused(loyal, request(1), EVERYBODY, caller)
    again = loyal.charged(request(1), EVERYBODY, "auditor")(EVERYBODY)
    assert (told == again).all()  # one report there is, whoever hears it
    assert (loyal.ledger.spent() == request().randomizer.epsilon.nanonats).all()


def test_a_report_that_can_say_nothing_is_refused_rather_than_noted_for_ever() -> None:
    # Such requests cost nobody anything, so nothing would bound how many of them fill the ledger.
    empty = replace(request(1), randomizer=FiniteChannel(((1, 3), (1, 3))))
    with pytest.raises(InvalidParameter):
        party(Policy()).randomize(empty, EVERYBODY)


def test_by_content_the_same_question_has_one_report_and_one_charge_under_any_identifier() -> None:
    canonical = party(Policy(by_content=True))
    first = canonical.randomize(request(1, "smoker and age >= 50"), EVERYBODY)
    again = canonical.randomize(request(2, "(smoker) and (age>=50)"), EVERYBODY)
    assert (first == again).all()
    assert (canonical.ledger.spent() == request().randomizer.epsilon.nanonats).all()


def test_without_it_another_identifier_is_another_report_and_another_charge() -> None:
    plain = party(Policy())
    first, again = (plain.randomize(request(number), EVERYBODY) for number in (1, 2))
    assert (first != again).any()
    assert (plain.ledger.spent() == 2 * request().randomizer.epsilon.nanonats).all()


@pytest.mark.parametrize("changed", [False, True])
def test_by_content_a_new_epoch_is_charged_anew_and_has_fresh_coins(changed: bool) -> None:
    records = people(PEOPLE)
    canonical = party(Policy(by_content=True), records)
    first = canonical.randomize(request(1), EVERYBODY)
    canonical.enter(canonical.epoch.next(with_age_of_the_last_changed(records) if changed else records))
    later = [canonical.randomize(request(number), EVERYBODY) for number in (1, 2)]
    assert (first != later[0]).any()  # nobody's bit changed: with the old coins they would agree
    assert (later[0] == later[1]).all()
    assert (canonical.ledger.spent() == 2 * request().randomizer.epsilon.nanonats).all()


def test_by_content_a_permanent_answer_too_has_one_report_under_any_identifier() -> None:
    canonical = party(Policy(by_content=True, largest_epsilon=Epsilon.requested(10)))
    asked = [Request(bytes([number]) * 16, "region", MEMOISED) for number in (1, 2)]
    first, again = (canonical.randomize(one, EVERYBODY) for one in asked)
    assert (first == again).all()
    assert (canonical.ledger.spent() == MEMOISED.epsilon_permanent.nanonats).all()


def with_age_of_the_last_changed(records: Records) -> Records:
    """The same people, but that the last one had a birthday."""
    columns = {name: records.column(name).copy() for name in records.schema.names}
    columns["age"][-1] += 1
    return Records.from_columns(records.schema, columns)


MIXED = Request(bytes(16), "smoker", OneBitRandomizer(Epsilon.requested(5)), mixed=True)


@pytest.mark.parametrize(
    ("policy", "caller", "said"),
    [
        (Policy(), "mixer", "policy.largest_epsilon_shuffled"),
        (Policy(shuffler="mixer", largest_epsilon_shuffled=Epsilon.requested(4)), "mixer", "allows 4"),
        (Policy(shuffler="mixer", largest_epsilon_shuffled=Epsilon.requested(8)), "analyst", "shuffler"),
        (Policy(shuffler="mixer", largest_epsilon_shuffled=Epsilon.requested(8)), "mixer", ""),
        (Policy(shuffler="mixer", largest_epsilon_shuffled=Epsilon.requested(8)), "", ""),
    ],
)
def test_only_the_shuffler_that_the_owner_named_may_ask_for_more_and_a_refusal_names_the_key(
    policy: Policy, caller: str, said: str
) -> None:
    asked = party(policy)
    if said:
        with pytest.raises(PolicyRefused, match=said):
            asked.charged(MIXED, EVERYBODY, caller)
        assert not asked.ledger.spent().any()
    else:
        asked.charged(MIXED, EVERYBODY, caller)
        with pytest.raises(PolicyRefused):
            asked.charged(replace(MIXED, mixed=False), EVERYBODY, caller)


def test_a_request_that_costs_next_to_nothing_is_refused() -> None:
    asked = party(Policy(smallest_epsilon=Epsilon.requested("0.0001")))
    tiny = Request(bytes(16), "smoker", OneBitRandomizer(Epsilon(99_999)))
    with pytest.raises(PolicyRefused, match=r"at least 0\.0001"):
        asked.charged(tiny, EVERYBODY)
    asked.charged(replace(tiny, randomizer=OneBitRandomizer(Epsilon.requested("0.00010001"))), EVERYBODY)


MOVE = "road([0.1, 0.2], [1, 1], 4, 9, {}, [{}], clip(age/120), clip(bmi/60); clip(age/120))"
OPENING = MOVE.format(0, "0, 0")


def asked_road(text: str) -> Request:
    return Request(b"r" * 16, text, KaryRandomizedResponse(ONE, 2))


def test_a_move_of_an_allowed_game_may_look_at_hidden_columns_and_nothing_else_may() -> None:
    plays = party(Policy(columns=frozenset({"smoker"}), games=frozenset({opening_text(OPENING)})))
    assert len(plays.randomize(asked_road(MOVE.format(3, "1.2, 1.9")), EVERYBODY)) == PEOPLE
    refused(plays, asked_road(MOVE.format(3, "1.2, 1.9").replace(", 4, 9", ", 5, 9")))
    refused(plays, asked_road(MOVE.format(3, "1.2, 1.9").replace("clip(bmi/60)", "clip(bmi/30)")))
    refused(plays, asked_road("age >= 50"))


@pytest.mark.parametrize(
    ("seen", "loads"),
    [
        (0, "0.1, 0"),  # a threshold on luck
        (0, "0, -0.1"),
        (3, "1000000, 1"),
        (3, "1, -1000000"),
        (3, "11.4, 1"),  # 3 + 1.6 sqrt(27) = 11.314
        (3, "1, -8.4"),
        (9, "4, 5"),  # after the last round nobody need be asked
    ],
)
def test_a_move_that_no_game_has_is_no_move_of_an_allowed_one(seen: int, loads: str) -> None:
    games = frozenset({opening_text(OPENING)})
    plays = party(Policy(columns=frozenset({"smoker"}), games=games))
    refused(plays, asked_road(MOVE.format(seen, loads)))
    # Where its columns are anybody's to ask about, so are its loads.
    assert party(Policy(games=games)).randomize(asked_road(MOVE.format(seen, loads)), EVERYBODY) is not None


@pytest.mark.parametrize(("seen", "loads"), [(0, "0, 0"), (3, "11.3, -8.3"), (8, "8, 0")])
def test_a_move_that_a_game_may_have_is_answered(seen: int, loads: str) -> None:
    plays = party(Policy(columns=frozenset({"smoker"}), games=frozenset({opening_text(OPENING)})))
    assert len(plays.randomize(asked_road(MOVE.format(seen, loads)), EVERYBODY)) == PEOPLE


def test_a_game_is_refused_where_its_columns_are_hidden_and_it_is_not_allowed() -> None:
    hiding = party(Policy(columns=frozenset({"smoker"})))
    refused(hiding, asked_road(OPENING))


@pytest.mark.parametrize("text", ["smoker", MOVE.format(3, "1.2, 1.9")])
def test_what_is_no_opening_is_no_game_to_allow(text: str) -> None:
    with pytest.raises(InvalidParameter, match="opening move"):
        opening_text(text)
