"""A sampled audit: a lower bound on epsilon, for randomizers with too many coins to follow.

Half of the reports find a pair of inputs and an event that tells them apart (events.py); the other half, drawn afresh, is
counted once, for that pair and event alone.  Clopper and Pearson's intervals then bound P[event | x] from below and
P[event | x'] from above, and the logarithm of their ratio is a lower bound on epsilon (estimation/intervals.py).

Claim.  The bound is no larger than the true epsilon with probability at least `confidence`, whatever the randomizer and
however the event was found.  So the verdict "violated" is wrong with probability at most 1 - confidence.
Power.  At epsilon = 1, 10**5 trials and confidence 0.9999 it refutes, for every randomizer of the catalogue at its small
size, one that spends 1.25 times its claim, and for nearly all of them 1.1 times.
Checked in tests/unit/auditing/test_sampled.py.

The converse does not hold: a sample refutes, it does not prove.  What it misses: an epsilon that is exceeded by less than
the width of the interval, about z sqrt((1 / P[event | x] + 1 / P[event | x']) / trials); reports that are rare; inputs that
were not tried; coins that are the same in every run, because the reports of one run still have the right law; and too much
noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations

import numpy as np

from localdp.auditing.drawing import PUBLIC_SEEDS, counted_paths, ends, received_reports, stated_law
from localdp.auditing.events import Event, found_events
from localdp.auditing.result import Audit
from localdp.errors import InvalidParameter
from localdp.estimation.intervals import epsilon_lower_bound
from localdp.randomizers.definition import LocalRandomizer
from localdp.randomizers.input_kinds import Input
from localdp.randomizers.parts.inputs import require_between
from localdp.randomness.source import RandomSource

FEWEST_TRIALS = 100
MOST_TRIALS = 10**8
_MOST_BYTES = 1 << 26  # of the reports that are held at a time
_MOST_REPORTS = 1 << 18

Found = tuple[float, Event | None, tuple[Input, Input], int | None]  # bound, event, inputs, public seed


def sampled_audit(
    randomizer: LocalRandomizer,
    trials: int,
    confidence: float,
    source: RandomSource,
    inputs: Sequence[Input] | None = None,
) -> Audit:
    """A lower bound on epsilon from `trials` reports about each of these inputs; the first two and the last, if none."""
    require_between("the number of trials", trials, FEWEST_TRIALS, MOST_TRIALS)
    if not 0 < confidence < 1:
        raise InvalidParameter("a confidence lies strictly between 0 and 1")
    tried = tuple(ends(randomizer) if inputs is None else inputs)
    if len(tried) < 2:
        raise InvalidParameter("an audit compares at least two inputs")
    found = max(
        (
            _explored(randomizer, tried, trials // 2, confidence, source, seed)
            for seed in _seeds(randomizer, tried[0])
        ),
        key=lambda one: one[0],
    )
    fresh = trials - trials // 2
    bound, notes = _tested(randomizer, found, fresh, confidence, source)
    if len(tried) < randomizer.inputs:
        notes = (f"{len(tried)} of {randomizer.inputs:,} inputs", *notes)
    return Audit(
        subject=randomizer.canonical,
        claimed=randomizer.epsilon,
        measured=bound,
        rounded=None,
        pair=found[2],
        complete=False,
        effort=fresh,
        confidence=confidence,
        notes=notes,
    )


def _seeds(randomizer: LocalRandomizer, value: Input) -> tuple[int | None, ...]:
    """Public seeds to hold fixed, if the randomizer sends one."""
    try:
        _, seeded = counted_paths(randomizer, value)
    except InvalidParameter:  # it draws words that stay with the party
        seeded = False
    return PUBLIC_SEEDS if seeded else (None,)


def _explored(
    randomizer: LocalRandomizer,
    tried: Sequence[Input],
    trials: int,
    confidence: float,
    source: RandomSource,
    seed: int | None,
) -> Found:
    """The ordered pair of inputs, and the event, that give the largest bound on these reports."""
    trials = min(trials, _block(randomizer))
    reports = {value: received_reports(randomizer, value, trials, source, seed) for value in tried}
    laws = {value: stated_law(randomizer, value, seed) for value in tried}
    best: Found = (-1.0, None, (tried[0], tried[1]), seed)
    for x, y in permutations(tried, 2):
        for bound, event in found_events(reports[x], reports[y], laws[x], laws[y], confidence):
            best = max(best, (bound, event, (x, y), seed), key=lambda found: found[0])
    return best


def _tested(
    randomizer: LocalRandomizer, found: Found, trials: int, confidence: float, source: RandomSource
) -> tuple[float, tuple[str, ...]]:
    """The bound from fresh reports."""
    _, event, pair, seed = found
    if event is None:
        return 0.0, ("nothing was found that tells two inputs apart",)
    hits = []
    for value in pair:
        counted, left = 0, trials
        while left:
            block = min(left, _block(randomizer))
            held = event.holds(received_reports(randomizer, value, block, source, seed))
            counted, left = counted + int(np.count_nonzero(held)), left - block
        hits.append(counted)
    return epsilon_lower_bound(hits[0], hits[1], trials, confidence), ()


def _block(randomizer: LocalRandomizer) -> int:
    """How many reports are held at a time."""
    return max(1, min(_MOST_REPORTS, 8 * _MOST_BYTES // int(randomizer.report_bits)))
