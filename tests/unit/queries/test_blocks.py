"""People in blocks: the partition, the text, and that one record is one row of the table of blocks."""

from __future__ import annotations

import numpy as np
import pytest

from localdp.domains import BitDomain, IntegerDomain, RealDomain, Records, Schema
from localdp.errors import InvalidParameter, LocalDpError, QueryRefused
from localdp.queries.asked import query_of
from localdp.queries.blocks import BlockEstimate, PeopleInBlocks, blocks_of_parties
from localdp.queries.encoded import encoded_sums, encoding_of

SCHEMA = Schema(
    {"ill": BitDomain(), "smoker": BitDomain(), "age": IntegerDomain(0, 99), "dose": RealDomain(-2, 2)}
)
SEED = bytes(range(16))
ESTIMATES = {
    "mean(dose)": (-2, 2),
    "median(age)": (0, 99),
    "deviation(age/100)": (0, 1),
    "slope(dose, age/100, smoker)": (-4, 4),
    "logistic(ill, dose)": (-3, 3),
    "best(ill, smoker, age >= 65, dose > 0)": (None, None),
}


def people(number: int = 40, seed: int = 1) -> Records:
    generator = np.random.default_rng(seed)
    columns = {
        "ill": generator.random(number) < 0.4,
        "smoker": generator.random(number) < 0.3,
        "age": generator.integers(0, 100, number),
        "dose": generator.uniform(-2, 2, number),
    }
    return Records(SCHEMA, columns)


def blocks_for(text: str) -> PeopleInBlocks:
    return PeopleInBlocks(BlockEstimate.parse(text, SCHEMA, *ESTIMATES[text]), SEED)


@pytest.mark.parametrize("text", ESTIMATES)
def test_a_text_means_the_same_blocks_again(text: str) -> None:
    blocks = blocks_for(text)
    assert PeopleInBlocks.parse(blocks.text, SCHEMA) == blocks
    assert blocks.columns <= set(SCHEMA.names)


def test_blocks_are_of_the_same_size_but_for_one_person_and_everybody_is_in_one() -> None:
    for number, blocks in ((40, 7), (40, 40), (40, 1), (41, 8)):
        blocking = blocks_for("mean(dose)").partition(number, blocks)
        assert sorted(blocking.order) == list(range(number))
        assert set(blocking.sizes) <= {number // blocks, number // blocks + 1}
        assert blocking.sizes.sum() == number and len(blocking.sizes) == blocks
    again = PeopleInBlocks(BlockEstimate.parse("mean(dose)", SCHEMA, -2, 2), bytes(16)).partition(40, 7)
    assert list(again.order) != list(blocks_for("mean(dose)").partition(40, 7).order)


@pytest.mark.parametrize("text", ESTIMATES)
def test_replacing_one_record_changes_one_row_and_no_sum_by_more_than_its_sensitivity(text: str) -> None:
    blocks, before = blocks_for(text), people()
    table = blocks.records(before, 6)
    asked = "clip(1/200*value + 1/2)" if ESTIMATES[text][0] is not None else "value"
    queries = [query_of(one, blocks.table) for one in (asked, "which(value < 1)")]
    sums = [encoded_sums(query, table) for query in queries]
    for person in range(0, 40, 3):
        columns = {name: before.column(name).copy() for name in SCHEMA.names}
        other = people(40, 2)
        for name in SCHEMA.names:
            columns[name][person] = other.column(name)[person]
        moved = blocks.records(Records(SCHEMA, columns), 6)
        assert (moved.column("value") != table.column("value")).sum() <= 1
        for query, sum_before in zip(queries, sums, strict=True):
            distance = np.abs(encoded_sums(query, moved) - sum_before).sum()
            assert distance <= encoding_of(query).sensitivity


HARD = (
    "1000000*ill, 1000000*ill",
    "1000000*ill, 1000000*smoker",
    "100000000000000000000*dose, dose, 3*dose",
)


@pytest.mark.parametrize("inputs", HARD)
@pytest.mark.parametrize("name", ["slope", "logistic"])
@pytest.mark.parametrize("blocks", [4, 40])
def test_no_record_decides_whether_there_is_an_answer(name: str, inputs: str, blocks: int) -> None:
    """Nobody is ill, one is, or everybody: there is an estimate of every block, and one at most differs."""
    asked = PeopleInBlocks(BlockEstimate.parse(f"{name}(smoker, {inputs})", SCHEMA, -3, 3), SEED)
    found = []
    for ill in (np.zeros(40, bool), np.arange(40) == 17, np.ones(40, bool)):
        columns = {key: people().column(key) for key in SCHEMA.names} | {"ill": ill}
        found.append(asked.records(Records(SCHEMA, columns), blocks).column("value"))
    assert np.isfinite(found).all() and (found[0] != found[1]).sum() <= 1


def test_what_is_no_estimate_is_refused_in_words() -> None:
    for text, bounds, told in (
        ("sum(dose)", (0, 1), "mean, median"),
        ("dose", (0, 1), "such as median"),
        ("mean(dose, age)", (0, 1), "takes 1 to 1 inputs"),
        ("mean(weight)", (0, 1), "weight"),
        ("mean(dose)", (None, None), "say between which bounds"),
        ("mean(dose)", (1, 0), "say between which bounds"),
        ("mean(dose)", (0, float("inf")), "say between which bounds"),
        ("logistic(dose, age)", (0, 1), "its first input is"),
        ("best(ill, smoker, age)", (None, None), "of conditions"),
        ("best(ill, smoker, age > 3)", (0, 1), "has no bounds"),
    ):
        with pytest.raises(LocalDpError, match=told):
            BlockEstimate.parse(text, SCHEMA, *bounds)


@pytest.mark.parametrize(
    "text", ["", "mean(dose)", "mean(dose) in [0, 1] by 00", "mean( dose ) in [0.0, 1.0] by " + "00" * 16]
)
def test_a_text_that_is_not_canonical_is_refused(text: str) -> None:
    with pytest.raises(QueryRefused):
        PeopleInBlocks.parse(text, SCHEMA)


def test_every_party_has_a_block_and_beyond_that_in_proportion() -> None:
    assert blocks_of_parties(10, [100, 300]) == (3, 7)
    assert blocks_of_parties(4, [1, 1, 1000, 1]) == (1, 1, 1, 1)
    assert sum(blocks_of_parties(97, [333, 1000, 20, 47])) == 97
    for blocks, sizes in ((1, [5, 5]), (0, [5]), (11, [5, 5]), (6, [1, 5])):
        with pytest.raises(InvalidParameter):
            blocks_of_parties(blocks, sizes)


def test_an_estimator_that_chooses_says_from_what() -> None:
    estimate = BlockEstimate.parse("best(ill, smoker, age >= 65, dose > 0)", SCHEMA)
    assert estimate.choices == ("smoker", "age >= 65", "dose > 0")
    assert estimate.table["value"] == IntegerDomain(0, 2)
