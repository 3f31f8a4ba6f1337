"""A party that answers by blocks of its people: everybody pays, no row leaves, and the owner has the last word."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from localdp.cohorts import Cohort
from localdp.errors import InvalidParameter, LocalDpError, PolicyRefused, UnknownIndex
from localdp.party.party import Party
from localdp.party.policy import Policy
from localdp.queries.blocks import BlockEstimate, PeopleInBlocks
from localdp.queries.encoded import encoded_sums, encoding_of
from localdp.queries.statistical import StatisticalQuery
from localdp.sharing import field
from localdp.sharing.collection import Collection, Contributor
from tests.support.federations import BUDGET, ONE, collection_of, party, people

PEOPLE, BLOCKS = 300, 12
RECORDS = people(PEOPLE)
ASKED = PeopleInBlocks(BlockEstimate.parse("median(age)", RECORDS.schema, 0, 120), bytes(16))
QUERY = StatisticalQuery.parse("clip(1/120*value)", ASKED.table)
SHARES = {"query": QUERY.text, "encoding": encoding_of(QUERY), "blocks": ASKED.text}


def holder(**policy: Any) -> Party:
    one = party(RECORDS)
    one.policy = Policy(largest_epsilon=BUDGET, **policy)
    return one


def collected(one: Party, number: int = BLOCKS, **changes: Any) -> Collection:
    fields: dict[str, Any] = {"parties": (Contributor(one.name, number),), **SHARES, **changes}
    return collection_of([one], **fields)


def test_the_shares_of_blocks_add_up_to_the_estimates_of_blocks() -> None:
    one = holder()
    shares = one.share(collected(one), Cohort(0, BLOCKS))
    rows = [np.ascontiguousarray(block.rows.inputs).view("<u8") for block in shares]
    total = sum(sum(map(int, row[:, 0])) for row in rows) % field.PRIME
    assert total == int(encoded_sums(QUERY, ASKED.records(RECORDS, BLOCKS))[0])


@pytest.mark.parametrize("asked", [Cohort(0, BLOCKS), Cohort(3, 5), Cohort(11, 12)])
def test_everybody_pays_whichever_blocks_are_asked_and_once(asked: Cohort) -> None:
    one = holder()
    for _ in range(2):
        one.share(collected(one), asked)
        assert set(one.ledger.spent()) == {ONE.nanonats}
    one.share(collected(one), Cohort(0, BLOCKS))
    assert set(one.ledger.spent()) == {ONE.nanonats}


def test_a_party_that_charged_blocks_as_if_they_were_people_would_be_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The broken twin: the first so many people pay for blocks that everybody is in."""
    monkeypatch.setattr("localdp.party.party.Bill.charged", lambda bill, cohort: cohort)
    with pytest.raises(AssertionError):
        test_everybody_pays_whichever_blocks_are_asked_and_once(Cohort(0, BLOCKS))


def test_the_same_blocks_in_parts_have_the_same_shares() -> None:
    one = holder()
    whole = one.share(collected(one), Cohort(0, BLOCKS))
    parts = [one.share(collected(one), Cohort(a, b)) for a, b in ((0, 5), (5, 12))]
    for server in range(2):
        inputs = np.concatenate([part[server].rows.inputs for part in parts])
        assert (inputs == whole[server].rows.inputs).all()


def test_the_owner_says_what_may_be_computed_and_of_which_columns() -> None:
    for policy, told in (
        ({"estimators": frozenset({"mean"})}, "does not compute median"),
        ({"columns": frozenset({"smoker"})}, "about column 'age'"),
        ({"minimum_cohort": PEOPLE + 1}, "people at once"),
        ({"minimum_batch": BLOCKS + 1}, "minimum batch"),
    ):
        one = holder(**policy)
        with pytest.raises(PolicyRefused, match=told):
            one.share(collected(one), Cohort(0, BLOCKS))
        assert not one.ledger.spent().any()
    allowed = holder(estimators=frozenset({"median"}), columns=frozenset({"age"}))
    assert allowed.granted_shares(collected(allowed), Cohort(0, BLOCKS)) == ONE


@pytest.mark.parametrize(("blocks", "asked", "people"), [(PEOPLE, 2, 2), (BLOCKS, 3, 75), (7, 1, 42)])
def test_a_cohort_of_blocks_is_of_as_many_people_as_are_in_them(
    blocks: int, asked: int, people: int
) -> None:
    """Everybody pays, but so few people are behind the answer."""
    enough, short = holder(minimum_cohort=people), holder(minimum_cohort=people + 1)
    assert len(enough.share(collected(enough, blocks), Cohort(0, asked))) == 2
    with pytest.raises(PolicyRefused, match="people at once"):
        short.share(collected(short, blocks), Cohort(0, asked))
    assert not short.ledger.spent().any()


def test_a_party_that_counts_whoever_pays_would_be_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The broken twin: the minimum cohort is required of everybody, who pay, whatever is asked."""
    monkeypatch.setattr("localdp.party.party.Bill.people_each", PEOPLE)
    with pytest.raises(pytest.fail.Exception):
        test_a_cohort_of_blocks_is_of_as_many_people_as_are_in_them(PEOPLE, 2, 2)


def test_what_cannot_be_asked_of_blocks_charges_nobody() -> None:
    one = holder()
    wrong: list[tuple[Collection, Cohort, type[LocalDpError]]] = [
        (collected(one), Cohort(0, BLOCKS + 1), UnknownIndex),
        (collected(one, PEOPLE + 1), Cohort(0, 1), InvalidParameter),
        (collected(one, BLOCKS, blocks="median(age) in [0, 120] by"), Cohort(0, 1), LocalDpError),
        (collected(one, BLOCKS, query="smoker"), Cohort(0, 1), LocalDpError),
    ]
    for collection, cohort, error in wrong:
        with pytest.raises(error):
            one.share(collection, cohort)
    assert not one.ledger.spent().any()


def test_another_partition_is_another_collection() -> None:
    one = holder()
    other = PeopleInBlocks(ASKED.estimate, bytes(15) + b"\1")
    first, second = collected(one), collected(one, BLOCKS, blocks=other.text)
    assert first.digest != second.digest
    assert replace(first, blocks="").digest not in (first.digest, second.digest)
