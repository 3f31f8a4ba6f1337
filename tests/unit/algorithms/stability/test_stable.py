"""Scales, medians and trimmed means as releases: an answer or None, at (epsilon, delta), and what would do without."""

from __future__ import annotations

import numpy as np
import pytest

import localdp as ldp
from localdp.algorithms.stability.stable import StableMean, StableMedian, StableRelease, StableScale
from localdp.domains import RealDomain, Records, Schema
from localdp.errors import InvalidParameter, QueryRefused, SignalTooWeak

SCHEMA = Schema({"x": RealDomain(-1000.0, 1000.0)})
RECORDS = Records(SCHEMA, {"x": np.random.default_rng(1).normal(3.0, 2.0, 8000)})
RELEASES: list[tuple[StableRelease, float, float]] = [
    (StableScale("x"), 2 * 1.349, 0.4),
    (StableMedian("x", 0.05), 3.0, 1.2),
    (StableMean("x", 0.002), 3.0, 0.2),
]


@pytest.mark.parametrize(("release", "truth", "within"), RELEASES)
def test_what_is_stable_is_told_and_promised_with_a_delta(
    release: StableRelease, truth: float, within: float
) -> None:
    with ldp.simulate(RECORDS, parties=2, budget=5, insecure_seed=3) as parties:
        told: list[str] = []
        parties.events.subscribe(lambda event: told.append(event.kind))
        found = parties.release(release, epsilon=1, model="curator")
        assert found.value_ == pytest.approx(truth, abs=within)
        assert (float(found.claim_.delta), float(found.cost_.epsilon_promised)) == (1e-6, 1.0)
        assert "except with a probability of 1e-06" in found.claim_.statement()
        assert told == ["round started", "round ended"]
        for model in ("local", "shared", "shuffled"):
            with pytest.raises(QueryRefused, match=r"with(in)? bounds"):
                parties.release(type(release)(**release.get_params()), epsilon=1, model=model)
        assert str(parties.budgets()).startswith("8,000 people have epsilon 5")


def test_people_who_are_too_few_for_any_answer_are_not_asked() -> None:
    with ldp.simulate(RECORDS.slice(0, 100), budget=5, insecure_seed=3) as parties:
        for release in (StableScale("x"), StableMedian("x", 1.0, 1e-12)):
            with pytest.raises(SignalTooWeak):
                parties.release(release, epsilon=0.3, model="curator")
        assert (
            parties.release(StableScale("x", check_signal=False), epsilon=0.3, model="curator").value_
            is None
        )


@pytest.mark.parametrize("delta", [0.0, 0.5, 2.0])
def test_a_delta_that_is_none_is_refused(delta: float) -> None:
    with ldp.simulate(RECORDS, budget=5) as parties, pytest.raises(InvalidParameter):
        parties.release(StableScale("x", delta), epsilon=1, model="curator")
