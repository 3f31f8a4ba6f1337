"""What is estimated about a crowd under each trust model, beside the exact answer.

Where parties answer by themselves, every person of the crowd makes a report (`crowd_reports.py`), with the epsilon that
the model charges a person.  Where a curator adds up, trusted or shared, only sums are released: those of the crowd are
known, and the noise of the model is drawn on them.  Shares cancel exactly, so that they are left out.

Checked in tests/unit/experiments/test_crowd_answers.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.shuffling import FEWEST_PEOPLE, largest_local
from localdp.accounting.shuffling import MOST_PEOPLE as MOST_SHUFFLED
from localdp.errors import InvalidParameter
from localdp.experiments.crowd import Crowd
from localdp.oracles.models import Options, TrustModel, delta_of
from localdp.randomizers.definition import (
    Estimate,
    Floats,
    Frequencies,
    FrequencyRandomizer,
    MeanRandomizer,
    TalliedRandomizer,
    Tally,
)
from localdp.randomizers.input_kinds import CategoryInput, GridInput, InputKind
from localdp.randomizers.registry import Entry
from localdp.randomness.source import Integers, RandomSource
from localdp.sharing.encoding import Encoding
from localdp.sharing.noise_plans import NoisePlan, ServerNoise, central_law

HALF_OF_95 = 1.959963984540054  # standard deviations


@dataclass(frozen=True, slots=True, eq=False)
class CrowdAnswer:
    """Estimates with their standard errors; of a mean there is one, of frequencies one for each input."""

    values: Floats
    standard_errors: Floats
    people: int

    @classmethod
    def of_tally(cls, tally: Tally) -> CrowdAnswer:
        """What an aggregator estimates from so many reports."""
        randomizer = cast("MeanRandomizer | FrequencyRandomizer", tally.randomizer)
        estimate: object = randomizer.estimate(tally)
        if isinstance(estimate, Estimate):
            errors = [estimate.standard_error]
            return cls(np.array([estimate.value]), np.array(errors), tally.reports)
        if isinstance(estimate, Frequencies):
            return cls(estimate.values, estimate.standard_errors, tally.reports)
        raise InvalidParameter(
            f"{randomizer.canonical} estimates neither a mean nor frequencies: take another"
        )


def estimated_kind(randomizer: TalliedRandomizer) -> InputKind:
    """The kind of input of a randomizer whose estimates are a mean or frequencies; others are refused."""
    kind = randomizer.takes
    if not isinstance(kind, GridInput | CategoryInput) or not hasattr(randomizer, "estimate"):
        raise InvalidParameter(
            f"{randomizer.canonical} takes no number or category: take another randomizer"
        )
    return kind


def report_epsilon(
    model: TrustModel, epsilon: Epsilon, people: int, entry: Entry, options: Options
) -> Epsilon:
    """What one report may cost: more than epsilon, where it is mixed with those of others.

    The more people there are the better they hide each other, so that of very many it is as much as of MOST_SHUFFLED.
    """
    if not model.needs_mixer or people < FEWEST_PEOPLE:
        return epsilon
    delta = float(delta_of(model.settled(options)["delta"]))
    mixed = largest_local(min(people, MOST_SHUFFLED), epsilon, delta, entry.construction.shuffled_as)
    return max(epsilon, mixed)


def exact_answer(crowd: Crowd, kind: InputKind) -> Floats:
    """The mean, or the frequencies."""
    exact: Floats = _sums(crowd, kind) / (crowd.people * encoding_of_inputs(kind).bound)
    return exact


def released_answer(
    model: TrustModel,
    crowd: Crowd,
    kind: InputKind,
    epsilon: Epsilon,
    source: RandomSource,
    servers: int,
    options: Options,
) -> CrowdAnswer:
    """What whoever adds up releases: the sums, with the noise of the model."""
    encoding, sums = encoding_of_inputs(kind), _sums(crowd, kind)
    settled, variance = model.settled(options), 0.0
    if model.needs_share_servers:
        noise = ServerNoise(
            NoisePlan.parse(str(settled["noise_plan"])), epsilon, encoding.sensitivity, servers
        )
        sums = sums + sum(noise.draw(source, len(sums)) for _ in range(servers))
        variance = noise.total_variance
    elif model.spends:
        law = central_law(epsilon, encoding.sensitivity)
        sums, variance = sums + law.sample(source, len(sums)), law.variance()
    whole = crowd.people * encoding.bound
    return CrowdAnswer(sums / whole, np.full(len(sums), variance**0.5 / whole), crowd.people)


def encoding_of_inputs(kind: InputKind) -> Encoding:
    """How an answer is encoded where it is added up."""
    if isinstance(kind, GridInput):
        return Encoding.sum(kind.resolution)
    assert isinstance(kind, CategoryInput)
    return Encoding.histogram(kind.values)


def _sums(crowd: Crowd, kind: InputKind) -> Integers:
    counts = crowd.counts()
    return np.array([counts @ np.arange(len(counts))]) if isinstance(kind, GridInput) else counts
