"""Winners as releases: in the way that needs the smaller lead, of people and of blocks, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import localdp as ldp
from localdp.accounting.ledger import MemoryLedger
from localdp.algorithms.stability.winners import SampleAndVote, StableWinner
from localdp.domains import BitDomain, CategoryDomain, Records, Schema
from localdp.errors import InvalidParameter, LocalDpError, QueryRefused, SignalTooWeak
from localdp.oracles.curator import CuratorOracle
from localdp.oracles.exact import ExactOracle
from tests.support.people import KEYRING, ONE

FEATURES = 12
NAMES = [f"f{number}" for number in range(FEATURES)]
SCHEMA = Schema(
    {"city": CategoryDomain(("a", "b", "c")), "ill": BitDomain(), **dict.fromkeys(NAMES, BitDomain())}
)


def people(number: int, lead: int = 60, seed: int = 0) -> Records:
    """The second city is ahead by the lead; the fourth feature goes with being ill."""
    generator = np.random.default_rng(seed)
    rest = (number - lead) // 3
    cities = np.repeat([0, 1, 2], [rest, number - 2 * rest, rest])
    columns: dict[str, Any] = {"city": cities, "ill": generator.random(number) < 0.5}
    for place, name in enumerate(NAMES):
        noise = generator.random(number) < 0.5
        columns[name] = (
            np.where(generator.random(number) < 0.3, columns["ill"], noise) if place == 3 else noise
        )
    return Records(SCHEMA, columns)


def curator(records: Records, purpose: str) -> CuratorOracle:
    return CuratorOracle(records, ONE, KEYRING.source("winners", purpose))


@pytest.mark.parametrize("by", ["best", "distance", "select", "histogram"])
def test_a_winner_that_is_far_ahead_is_told(by: Any) -> None:
    learner = StableWinner("city", by).fit(curator(people(300), by))
    assert (learner.choice_, learner.value_) == ("b", 1.0)
    delta = learner.claim_.delta
    assert (delta > 0) is (by == "distance")


def test_a_winner_that_is_not_far_ahead_is_not_told_by_distance() -> None:
    told = [
        StableWinner("city", "distance").fit(curator(people(300, 3), str(run))).choice_ for run in range(30)
    ]
    assert told == [None] * 30


def test_the_way_that_needs_the_smaller_lead_is_taken_and_said() -> None:
    few = StableWinner("city").fit(curator(people(300), "few"))
    assert (few.by_, few.simpler_) == ("select", None) and (few.lead_needed_ or 0) < 15
    tested = StableWinner("city", "distance").fit(curator(people(300), "tested"))
    assert (tested.lead_needed_, tested.simpler_) == (37, "select needs a smaller lead here")
    many = f"cells({', '.join(['city'] * 11)})"  # 177,147 options are more than are selected from
    assert StableWinner(many).fit(curator(people(300), "many")).by_ == "distance"


def test_too_few_votes_for_any_answer_are_refused_and_charge_nobody() -> None:
    records, ledger = people(20, 10), MemoryLedger(20, ONE)
    oracle = CuratorOracle(records, ONE, KEYRING.source("few votes"), ledger=ledger)
    with pytest.raises(SignalTooWeak, match="nothing was asked"):
        StableWinner("city", "distance").fit(oracle)
    with pytest.raises(QueryRefused, match="values of one category"):
        StableWinner("vector(ill, f1)").fit(oracle)
    assert not ledger.spent().any() and oracle.cost.rounds == 0


def test_most_blocks_say_which_feature_goes_with_an_illness() -> None:
    chosen = f"best(ill, {', '.join(NAMES)})"
    for model in ("exact", "curator", "shared"):
        with ldp.simulate(people(12_000), parties=3, budget=5, insecure_seed=3) as parties:
            found = parties.release(SampleAndVote(chosen), epsilon=1, model=model)
        assert found.choice_ == "f3"


def test_most_subsamples_say_it_as_well_with_hundreds_of_times_more_blocks() -> None:
    records = people(12_000)
    learner = SampleAndVote(f"best(ill, {', '.join(NAMES[2:5])})", blocks=2500, repeated=True)
    found = learner.fit(curator(records, "subsamples"))
    assert found.choice_ in ("f3", None) and found.claim_.delta > 0
    with pytest.raises(InvalidParameter, match="the book prints"):
        SampleAndVote("mean(f1)", 0, 1, blocks=19_801_688, repeated=True).fit(curator(records, "book"))


def test_a_number_is_voted_for_by_its_bin() -> None:
    found = SampleAndVote("mean(f1)", 0, 1, bins=4, blocks=60).fit(ExactOracle(people(6000)))
    assert found.value_ in (0.375, 0.625) and found.choice_ is None


def test_what_is_no_way_to_tell_a_winner_is_refused() -> None:
    for wrong in (StableWinner("city", "guess"), SampleAndVote("mean(f1)", 0, 1, bins=1)):  # type: ignore[arg-type]
        with pytest.raises(LocalDpError):
            wrong.fit(ExactOracle(people(300)))
