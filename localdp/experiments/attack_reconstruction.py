"""Reconstruction, shown: answers that are too accurate give the database away; private ones do not (chapter 8).

Four panels: least squares against the accuracy of the answers, with the formula; the Hadamard attack with its bound; linear
programming where some answers are garbage; and the same attack asked of a curator and of local reports, in the query
language, by the epsilon that everybody spends on all queries together.
Checked in tests/unit/experiments/test_attack_runs.py, and at full size in tests/statistical/test_attacks.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.ledger import MemoryLedger
from localdp.attacks.asking import asked_sums, named_people
from localdp.attacks.exhaustive import all_sums, consistent, distances, outvoting, signed_answers
from localdp.attacks.hadamard import hadamard, most_wrong, signed_sums
from localdp.attacks.least_squares import expected_fraction, least_squares
from localdp.attacks.linear_program import linear_program, require_solver
from localdp.attacks.subset_sums import guess_bound, random_bits, random_subsets, recovered, subset_sums
from localdp.domains import Records
from localdp.errors import LocalDpError
from localdp.experiments.attack_trials import Range
from localdp.experiments.panels import Demonstration, Panel, Point
from localdp.oracles.curator import CuratorOracle
from localdp.oracles.definition import StatisticalQueryOracle
from localdp.oracles.local import LocalOracle
from localdp.oracles.lr import InProcessLROracle
from localdp.party.party import Party
from localdp.party.policy import Policy
from localdp.randomizers.definition import Floats
from localdp.randomness.rounded_gaussian import RoundedGaussian
from localdp.randomness.source import Bits, RandomSource, uniform_bytes

PEOPLE, QUERIES = 256, 1024
DEVIATIONS = (1, 2, 4, 8, 16, 32)
HADAMARD_PEOPLE = 1024
ERRORS = (4, 8, 12, 16, 24)
LP_PEOPLE, LP_QUERIES = 128, 512
FEW_PEOPLE, FEW_QUESTIONS, FEW_LOST = 12, 48, 0.3  # where everything is tried
GARBAGE = (0.0, 0.1, 0.2, 0.3)
EPSILONS = (1, 10, 100, 1000)
LONG_TRIALS = 4  # of what takes a second or more
ROUNDS = 64  # a request may cost at most 30 nats, and 1000 are spent in all
FRACTION = "fraction of the bits recovered"
_GRID = 1 << 12  # a Gaussian of this unit is drawn as a whole number

OracleOf = Callable[[Records, Epsilon, RandomSource], StatisticalQueryOracle]
Solver = Callable[[Bits, Floats], Bits]
Noise = Callable[[int, RandomSource], Floats]


def gaussian(deviation: float, count: int, source: RandomSource) -> Floats:
    """Noise of an answerer who is careless, not private."""
    law = RoundedGaussian(round((deviation * _GRID) ** 2))
    return law.sample(source, count).astype(np.float64) / _GRID


def least_squares_trial(people: int, queries: int, deviation: float, source: RandomSource) -> float:
    """What least squares recovers from noisy subset sums."""
    bits, subsets = random_bits(people, source), random_subsets(queries, people, source)
    noisy = subset_sums(subsets, bits) + gaussian(deviation, queries, source)
    return recovered(least_squares(subsets, noisy), bits)


def hadamard_trial(people: int, error: int, source: RandomSource) -> float:
    """What the inverse transform recovers from answers that are off by a uniform whole number up to the error."""
    bits = random_bits(people, source)
    off = source.below(2 * error + 1, people).astype(np.float64) - error
    return recovered(hadamard(signed_sums(bits) + off), bits)


def within_one(count: int, source: RandomSource) -> Floats:
    """Uniform in [-1, 1], on a fine grid."""
    return source.below(2 * _GRID + 1, count).astype(np.float64) / _GRID - 1


def garbage_trial(
    solver: Solver,
    people: int,
    queries: int,
    share: float,
    source: RandomSource,
    noise: Noise = within_one,
) -> float:
    """What is recovered where some answers are arbitrary and the others off by at most one.

    How the others are off matters: a linear program is right about all bits for uniform errors, and about 98 % of them
    if every answer is off by exactly one (tests/statistical/test_attacks.py has the three laws side by side).
    """
    bits, subsets = random_bits(people, source), random_subsets(queries, people, source)
    noisy = subset_sums(subsets, bits) + noise(queries, source)
    lost = source.bernoulli(int(share * (1 << 32)) << 32, queries)
    noisy[lost] = source.below(people + 1, int(lost.sum())).astype(np.float64)
    return recovered(solver(subsets, noisy), bits)


def outvoted_trial(people: int, questions: int, share: float, source: RandomSource) -> int:
    """How many bits the farthest candidate has wrong that garbage does not outvote, the other answers being within one."""
    bits, signs = random_bits(people, source), random_subsets(questions, people, source)
    answers = signed_answers(signs, bits) + within_one(questions, source)
    lost = int(share * questions)
    answers[:lost] = 2.0 * source.below(people + 1, lost) - people
    return int(distances(outvoting(signs, answers, 1.0, 0.5 - lost / questions), bits).max())


def oracle_trial(
    oracle_of: OracleOf, people: int, queries: int, epsilon: int, source: RandomSource
) -> float:
    """What least squares recovers from the answers of an oracle on which everybody spends epsilon in all."""
    bits, subsets = random_bits(people, source), random_subsets(queries, people, source)
    each = Epsilon.requested(epsilon / ROUNDS)
    told = asked_sums(oracle_of(named_people(bits), each, source), subsets, ROUNDS)
    return recovered(least_squares(subsets, told), bits)


def curator(records: Records, each: Epsilon, source: RandomSource) -> StatisticalQueryOracle:
    """A trusted curator that answers every round at this price."""
    return CuratorOracle(records, each, source, budget=each * ROUNDS)


def local(records: Records, each: Epsilon, source: RandomSource) -> StatisticalQueryOracle:
    """Local reports; everybody answers every query of a round with a part of its price."""
    secret = uniform_bytes(source, 32)
    ledger = MemoryLedger(records.people, each * ROUNDS)
    party = Party("people", records, secret, ledger, Policy(largest_epsilon=Epsilon.requested(30)))
    return LocalOracle(InProcessLROracle([party]), each, source, divide="epsilon")


def reconstruction(tried: Range) -> Demonstration:
    """All panels."""
    panels = (_accuracy(tried), _hadamard(tried), *_garbage(tried), _oracles(tried))
    return Demonstration("reconstruction", "Reconstruction of a database of bits", panels, _notes(tried))


def _accuracy(tried: Range) -> Panel:
    points = [
        tried.point(
            "least squares",
            deviation,
            partial(least_squares_trial, PEOPLE, QUERIES, deviation),
            predicted=expected_fraction(QUERIES, PEOPLE, deviation),
        )
        for deviation in DEVIATIONS
    ]
    title = f"{QUERIES:,} random subset sums of {PEOPLE} bits"
    return Panel(title, "standard deviation of an answer", FRACTION, tuple(points))


def _hadamard(tried: Range) -> Panel:
    points: list[Point] = []
    for error in ERRORS:
        bound = 1 - most_wrong(error, HADAMARD_PEOPLE) / HADAMARD_PEOPLE
        points += [
            tried.point("Hadamard", error, partial(hadamard_trial, HADAMARD_PEOPLE, error)),
            Point("at least, whatever the errors are", error, bound, 1),
        ]
    title = f"{HADAMARD_PEOPLE:,} signed sums of as many bits"
    return Panel(title, "largest error of an answer", FRACTION, tuple(points))


def _garbage(tried: Range) -> tuple[Panel, ...]:
    """Where there is a solver."""
    try:
        require_solver()
    except LocalDpError:
        return ()
    solvers: dict[str, Solver] = {"linear program": linear_program, "least squares": least_squares}
    points = [
        tried.point(
            name,
            share,
            partial(garbage_trial, solver, LP_PEOPLE, LP_QUERIES, share),
            trials=min(LONG_TRIALS, tried.trials),
        )
        for name, solver in solvers.items()
        for share in GARBAGE
    ]
    title = f"{LP_QUERIES} random subset sums of {LP_PEOPLE} bits, some of them garbage"
    return (Panel(title, "fraction of the answers that are garbage", FRACTION, tuple(points)),)


def _oracles(tried: Range) -> Panel:
    makers: dict[str, OracleOf] = {CuratorOracle.model: curator, "local reports": local}
    points = [
        tried.point(
            name,
            epsilon,
            partial(oracle_trial, oracle_of, PEOPLE, QUERIES, epsilon),
            predicted=expected_fraction(QUERIES, PEOPLE, answer_deviation(name, epsilon)),
            trials=min(LONG_TRIALS, tried.trials),
        )
        for name, oracle_of in makers.items()
        for epsilon in EPSILONS
    ]
    points += [Point("at most, about one bit", epsilon, guess_bound(epsilon), 1) for epsilon in EPSILONS]
    title = f"{QUERIES:,} random subset sums of {PEOPLE} bits, asked of oracles"
    return Panel(title, "epsilon for all answers together", FRACTION, tuple(points))


def answer_deviation(name: str, epsilon: float) -> float:
    """The standard deviation of one of the answers: discrete Laplace noise, or randomized response of everybody."""
    each = epsilon / QUERIES
    return (
        1 / (math.sqrt(2) * math.sinh(each / 2))
        if name == CuratorOracle.model
        else math.sqrt(PEOPLE) / (2 * math.sinh(each / 2))
    )


def _notes(tried: Range) -> tuple[str, ...]:
    source = tried.keyring.source("attack", "exhaustive")
    bits = random_bits(10, source)
    noisy = all_sums(bits) + source.below(3, 1 << 10).astype(np.float64) - 1
    candidates = consistent(noisy, 1)
    worst = int(distances(candidates, bits).max())
    outvoted = outvoted_trial(FEW_PEOPLE, FEW_QUESTIONS, FEW_LOST, source)
    return (
        f"trying everything: all 1,024 subset sums of 10 bits within 1 leave {len(candidates)} candidates; the "
        f"farthest differs in {worst} bits, and none can differ in more than 4 (Theorem 8.1)",
        f"trying everything: {FEW_QUESTIONS} signed sums of {FEW_PEOPLE} bits, {FEW_LOST:.0%} of them garbage; the "
        f"farthest candidate that the garbage does not outvote differs in {outvoted} bits (Theorem 8.2)",
        "where some answers are garbage, the others are off by a uniform number within 1; if each of them is off by "
        "exactly 1, a linear program recovers about 98 % of the bits and not all",
    )
