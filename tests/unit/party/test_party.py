"""A party: charges before it draws, gives the same report to the same request, and shares no coins between two."""

from dataclasses import replace

import numpy as np
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.ledger import Charge, MemoryLedger, Receipt
from localdp.cohorts import Cohort, Split
from localdp.errors import (
    BudgetExhausted,
    InvalidParameter,
    PolicyRefused,
    QueryRefused,
    StorageFailed,
    UnknownIndex,
)
from localdp.party.party import Party, Request
from localdp.party.policy import Policy
from localdp.randomizers.one_bit import OneBitRandomizer, binary_randomized_response
from localdp.sharing.collection import Collection, Contributor
from localdp.sharing.encoding import Encoding
from localdp.sharing.noise_plans import NoisePlan
from tests.support.people import KEYRING, ONE, party_of, population
from tests.support.shares import bound

PEOPLE = 400
EVERYBODY = Cohort(0, PEOPLE)
REQUEST = Request(b"request-0-------", "smoker", binary_randomized_response(1))


@pytest.fixture
def party() -> Party:
    return party_of(population(PEOPLE))


def test_the_same_request_has_the_same_report_and_is_charged_once(party: Party) -> None:
    first, second = (party.randomize(REQUEST, EVERYBODY) for _ in range(2))
    assert (first == second).all()
    assert (party.ledger.spent() == ONE.nanonats).all()


def test_a_person_gives_the_same_report_whoever_else_is_asked(party: Party) -> None:
    whole = party.randomize(REQUEST, EVERYBODY)
    assert (party.randomize(REQUEST, Cohort(100, 200)) == whole[100:200]).all()
    some = Cohort(0, PEOPLE, Split(bytes(16), 3, 1))
    assert (party.randomize(REQUEST, some) == whole[some.selection()]).all()
    assert (party.ledger.spent() == ONE.nanonats).all()


@pytest.mark.parametrize(
    "other",
    [
        replace(REQUEST, request_id=b"request-1-------"),
        replace(REQUEST, query="smoker and true"),
        replace(REQUEST, randomizer=binary_randomized_response("0.999999999")),
        replace(REQUEST, randomizer=OneBitRandomizer(ONE, 2)),
    ],
)
def test_another_request_has_other_coins_and_its_own_charge(party: Party, other: Request) -> None:
    # Coins are compared, not reports: the reports of these requests have the same data and the same law.
    bits = party.records.column("smoker")
    coins = party.randomize(REQUEST, EVERYBODY) ^ bits
    others = party.randomize(other, EVERYBODY) ^ bits
    # With fresh coins of probability q = 0.27 the 400 flips agree everywhere with probability below 1e-80.
    assert (coins != others).any()
    assert (party.ledger.spent() > ONE.nanonats).all()


def test_parties_with_different_keys_share_no_coins() -> None:
    records = population(PEOPLE)
    one, two = (party_of(records, number=number).randomize(REQUEST, EVERYBODY) for number in (0, 1))
    assert (one != two).any()


class BrokenDisk(MemoryLedger):
    def charge(self, charge: Charge) -> Receipt:
        raise StorageFailed("the disk is full")


def test_without_a_charge_there_is_no_report() -> None:
    records = population(PEOPLE)
    party = party_of(records, ledger=BrokenDisk(PEOPLE, ONE))
    with pytest.raises(StorageFailed):
        party.randomize(REQUEST, EVERYBODY)


def test_the_epsilon_that_is_charged_is_that_of_the_law_not_of_the_request(party: Party) -> None:
    coarse = OneBitRandomizer(Epsilon.requested(25), 1 << 20)  # F is rounded up to a multiple of 2**19
    party.randomize(replace(REQUEST, randomizer=coarse), EVERYBODY)
    assert party.ledger.spent()[0] == coarse.epsilon.nanonats < Epsilon.requested(25).nanonats


def test_a_budget_is_enforced_before_anything_is_drawn() -> None:
    party = party_of(population(PEOPLE), budget=ONE)
    party.randomize(REQUEST, EVERYBODY)
    with pytest.raises(BudgetExhausted):
        party.randomize(replace(REQUEST, request_id=b"request-1-------"), EVERYBODY)
    assert (party.randomize(REQUEST, EVERYBODY) >= 0).all()


def test_a_party_has_a_largest_epsilon_of_its_own() -> None:
    records = population(PEOPLE)
    policy = Policy(largest_epsilon=Epsilon.requested("0.5"))
    party = Party("party-0", records, KEYRING.party(0), MemoryLedger(PEOPLE, Epsilon.requested(10)), policy)
    with pytest.raises(PolicyRefused):
        party.randomize(REQUEST, EVERYBODY)
    assert not party.ledger.spent().any()


@pytest.mark.parametrize(
    ("query", "error"),
    [
        ("smokr", QueryRefused),
        ("region > 3", QueryRefused),
        ("age", QueryRefused),
        ("not " * 5000 + "smoker", QueryRefused),
        ("smoker or " * 5000 + "smoker", QueryRefused),
        ("clip(age/120)", InvalidParameter),
    ],
)
def test_a_query_that_is_refused_charges_nothing(party: Party, query: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        party.randomize(replace(REQUEST, query=query), EVERYBODY)
    assert not party.ledger.spent().any()


def test_people_beyond_the_party_are_refused_and_nobody_is_charged(party: Party) -> None:
    with pytest.raises(UnknownIndex):
        party.randomize(REQUEST, Cohort(0, PEOPLE + 1))
    assert not party.ledger.spent().any()


def collection_of(party: Party, **changes: object) -> Collection:
    standard = Collection(
        bytes(16),
        "smoker",
        Encoding.count(),
        ONE,
        NoisePlan.EACH_SERVER,
        ("server-0", "server-1"),
        (Contributor(party.name, party.people),),
        10,
        bound(("server-0", "server-1")),
    )
    return replace(standard, **changes)  # type: ignore[arg-type]


def test_shares_are_repeated_and_charged_like_reports(party: Party) -> None:
    collection = collection_of(party)
    first, second = (party.share(collection, EVERYBODY) for _ in range(2))
    assert all((a.rows.inputs == b.rows.inputs).all() for a, b in zip(first, second, strict=True))
    assert (party.ledger.spent() == ONE.nanonats).all()


def test_shares_of_different_collections_share_no_coins(party: Party) -> None:
    one = party.share(collection_of(party), EVERYBODY)
    two = party.share(collection_of(party, minimum_batch=11), EVERYBODY)
    here, there = (np.ascontiguousarray(blocks[0].rows.inputs).view("<u8") for blocks in (one, two))
    assert not np.intersect1d(here, there).size


def test_shares_in_parts_are_the_shares_of_the_whole(party: Party) -> None:
    collection = collection_of(party)
    whole, shares = party.share(collection, EVERYBODY), party.shared(collection, EVERYBODY)
    parts = [shares(part) for part in EVERYBODY.parts(7)]
    for server, block in enumerate(whole):
        assert (np.concatenate([part[server].rows.inputs for part in parts]) == block.rows.inputs).all()


def test_reports_with_proofs_are_repeated_byte_for_byte(party: Party) -> None:
    collection, few = collection_of(party, tier="prio3"), Cohort(0, 4)
    first, second = party.share(collection, few), party.share(collection, Cohort(2, 4))
    assert all((a.rows.inputs[2:] == b.rows.inputs).all() for a, b in zip(first, second, strict=True))


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"minimum_batch": 1}, PolicyRefused),
        ({"parties": (Contributor("party-0", PEOPLE + 1),)}, InvalidParameter),
        ({"parties": (Contributor("stranger", PEOPLE),)}, InvalidParameter),
        ({"query": "smokr"}, QueryRefused),
        ({"query": "clip(age/120)"}, InvalidParameter),
        ({"encoding": Encoding.sum(2)}, InvalidParameter),
        ({"encoding": Encoding.vector(1, 1, 1)}, InvalidParameter),
        ({"encoding": Encoding.histogram(2)}, InvalidParameter),
    ],
)
def test_a_party_does_not_join_every_collection(
    party: Party, changes: dict[str, object], error: type[Exception]
) -> None:
    with pytest.raises(error):
        party.share(collection_of(party, **changes), EVERYBODY)
    assert not party.ledger.spent().any()


@pytest.mark.parametrize("request_id", [b"", b"short", b"x" * 65])
def test_a_request_identifier_has_a_length_within_bounds(request_id: bytes) -> None:
    with pytest.raises(InvalidParameter):
        Request(request_id, "smoker", binary_randomized_response(1))
