"""What a report costs at the party and at the aggregator, in units of one numpy double drawn in the same run.

A million people (fewer where a report is long), 1,024 inputs, epsilon 1, Zipf data, coins from a keystream keyed by the
operating system.  People are served in batches, and each turn takes the next batch; short turns, because a long one is
never without a busy moment on a shared machine.  The yardstick is one `Generator.random` double, written into memory that
is already there: it is not private, and it is the least that any floating-point randomizer would have to draw.  Everything
is timed in turns, the best of all turns counts.  Run with `python -m benchmarks.randomizers`.
"""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from itertools import cycle
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.rows import Row, best_seconds, print_rows, row_of
from localdp.accounting.epsilon import Epsilon
from localdp.estimation.consistency import norm_sub
from localdp.randomizers.definition import TalliedRandomizer
from localdp.randomizers.hadamard import HadamardResponse
from localdp.randomizers.hybrid import HybridRandomizer
from localdp.randomizers.k_ary import KaryRandomizedResponse
from localdp.randomizers.local_hashing import OptimalLocalHashing
from localdp.randomizers.local_laplace import LocalDiscreteLaplace
from localdp.randomizers.one_bit import OneBitRandomizer, binary_randomized_response
from localdp.randomizers.piecewise import PiecewiseRandomizer
from localdp.randomizers.priv_unit import PrivUnit
from localdp.randomizers.projective_geometry import ProjectiveGeometryResponse
from localdp.randomizers.recursive_hadamard import RecursiveHadamardResponse
from localdp.randomizers.subset_selection import SubsetSelection
from localdp.randomizers.unary import OptimizedUnaryEncoding, SymmetricUnaryEncoding
from localdp.randomness.keystream import KeystreamSource

PEOPLE = 1_000_000
INPUTS = 1024
ONE = Epsilon.requested(1)
EXPONENT = 1.2  # of the Zipf law
TURNS = 160
LONG_BATCH = 2_000  # people whose reports are about as long as the list of inputs
LONG_TURNS = 60
UNIT = "numpy doubles"

STREAMED = 100_000_000
STREAMED_AT_FIRST = 1_000_000
BATCH = 1 << 16

WIDE_INPUTS, WIDE_ORDER, WIDE_DIMENSION = 1_000_000, 4, 11  # PG(10, 4) has 1,398,101 points
PAIRS_REPORTS = 20_000
DECODE_SECONDS = 0.010
WIDE_DECODE_SECONDS = 1.0
PAIR_NANOSECONDS = 5.0
GAIN_OF_NORM_SUB = 0.35
NORM_SUB_RUNS = 5
VECTOR_DIMENSION = 32
UNIT_PEOPLE = 1_000

Values = NDArray[Any]
Client = tuple[str, Any, Values, float | None]  # name, randomizer, values, target in doubles a person


def zipf_people(people: int, inputs: int = INPUTS, seed: int = 1) -> NDArray[np.int64]:
    """Values of a Zipf law, the commonest first; the same ones in every run."""
    weights = np.arange(1, inputs + 1) ** -EXPONENT
    return np.random.default_rng(seed).choice(inputs, people, p=weights / weights.sum())


def randomizers() -> list[Row]:
    """Every row: parties, aggregators, memory, and what post-processing gains."""
    source = KeystreamSource.from_system()
    values = zipf_people(PEOPLE)
    return [
        *_client_rows(_short(values), source, BATCH, TURNS),
        *_client_rows(_long(values), source, LONG_BATCH, LONG_TURNS),
        *_client_rows(_vectors(), source, UNIT_PEOPLE, 3),
        *_tally_rows(values, source),
        *_decode_rows(values, source),
        _streamed_row(values[:BATCH], source),
        _norm_sub_row(values, source),
    ]


def _short(values: Values) -> list[Client]:
    """Reports of a few bits."""
    return [
        ("binary randomized response", binary_randomized_response(ONE), values == 0, 1.2),
        ("k-ary randomized response", KaryRandomizedResponse(ONE, INPUTS), values, 3.5),
        ("Hadamard response", HadamardResponse(ONE, INPUTS), values, 6.0),
        ("one-bit mean", OneBitRandomizer(ONE, INPUTS), values, 7.0),
        ("projective geometry response", ProjectiveGeometryResponse(ONE, INPUTS), values, 47.0),
        ("recursive Hadamard response", RecursiveHadamardResponse(ONE, INPUTS), values, None),
        ("optimal local hashing", OptimalLocalHashing(ONE), values, None),
        ("piecewise mean", PiecewiseRandomizer(ONE), values, None),
        ("hybrid mean", HybridRandomizer(ONE), values, None),
        ("discrete Laplace mean", LocalDiscreteLaplace(ONE), values, None),
    ]


def _long(values: Values) -> list[Client]:
    """Reports of as many bits as there are inputs, or about: fewer people."""
    fewer = values[:20_000]
    return [
        ("optimized unary encoding", OptimizedUnaryEncoding(ONE, INPUTS), fewer, 610.0),
        ("symmetric unary encoding", SymmetricUnaryEncoding(ONE, INPUTS), fewer, None),
        ("subset selection", SubsetSelection(ONE, INPUTS), fewer, None),
    ]


def _vectors() -> list[Client]:
    """Vectors of the unit ball."""
    directions = np.random.default_rng(2).standard_normal((UNIT_PEOPLE, VECTOR_DIMENSION))
    unit = PrivUnit(ONE, VECTOR_DIMENSION)
    lengths = np.linalg.norm(directions, axis=1, keepdims=True) * 1.001
    vectors = (directions / lengths * unit.resolution).astype(np.int64)
    return [(f"PrivUnit, {VECTOR_DIMENSION} dimensions", unit, vectors, None)]


def _client_rows(clients: list[Client], source: KeystreamSource, batch: int, turns: int) -> list[Row]:
    """What one person's report costs, a batch at a time."""
    calls = [_drawing(randomizer, values, source, batch) for _, randomizer, values, _ in clients]
    for call in calls:
        call()  # Tables are built once per randomizer, and are not part of a report.
    double, *seconds = best_seconds([_doubles(), *calls], turns)
    rows = []
    for (name, _, _, target), taken in zip(clients, seconds, strict=True):
        each = taken / batch
        rows.append(
            row_of(f"report: {name}", each * 1e9, "ns a person", UNIT, each / double * BATCH, target)
        )
    return rows


def _drawing(randomizer: Any, values: Values, source: KeystreamSource, batch: int) -> Callable[[], object]:
    """A turn: the reports of the next batch, all of the same size."""
    starts = cycle(range(0, len(values) - batch + 1, batch))

    def draw() -> object:
        start = next(starts)
        return randomizer.randomize(values[start : start + batch], source)

    return draw


def _doubles() -> Callable[[], object]:
    generator, place = np.random.default_rng(), np.empty(BATCH)
    return lambda: generator.random(out=place)


def _tally_rows(values: Values, source: KeystreamSource) -> list[Row]:
    """What one report costs the aggregator on arrival; informational."""
    tallied = [
        (name, randomizer, randomizer.randomize(held, source))
        for name, randomizer, held, _ in [*_short(values), *_long(values)]
        if isinstance(randomizer, TalliedRandomizer)
    ]
    calls = [_tallying(randomizer, reports) for _, randomizer, reports in tallied]
    double, *seconds = best_seconds([_doubles(), *calls], 5)
    rows = []
    for (name, _, reports), taken in zip(tallied, seconds, strict=True):
        each = taken / len(reports)
        rows.append(row_of(f"tally: {name}", each * 1e9, "ns a person", UNIT, each / double * BATCH, None))
    return rows


def _tallying(randomizer: Any, reports: Values) -> Callable[[], object]:
    return lambda: randomizer.tally(reports)


def _decode_rows(values: Values, source: KeystreamSource) -> list[Row]:
    """From a million reports to all frequencies, and from reports and candidates to supports."""
    narrow = ProjectiveGeometryResponse(ONE, INPUTS)
    wide = ProjectiveGeometryResponse(ONE, WIDE_INPUTS, WIDE_ORDER, WIDE_DIMENSION)
    spread = zipf_people(PEOPLE, WIDE_INPUTS)
    hashing = OptimalLocalHashing(ONE)
    few, many = narrow.randomize(values, source), wide.randomize(spread, source)
    hashed = hashing.randomize(values[:PAIRS_REPORTS], source)
    candidates = np.arange(INPUTS)
    seconds = best_seconds(
        [
            lambda: narrow.estimate(narrow.tally(few)),
            lambda: wide.estimate(wide.tally(many)),
            lambda: hashing.support_counts(hashed, candidates),
        ],
        5,
    )
    pair = seconds[2] / (PAIRS_REPORTS * INPUTS) * 1e9
    return [
        _against_clock(
            f"decode 10^6 reports, PGR, K = {narrow.geometry.points}", seconds[0], DECODE_SECONDS
        ),
        _against_clock(
            f"decode 10^6 reports, PGR, K = {wide.geometry.points}", seconds[1], WIDE_DECODE_SECONDS
        ),
        row_of(
            "decode local hashing",
            pair,
            "ns a pair",
            f"{PAIR_NANOSECONDS} ns",
            pair / PAIR_NANOSECONDS,
            1.0,
        ),
    ]


def _against_clock(name: str, seconds: float, limit: float) -> Row:
    return row_of(name, seconds * 1e3, "ms", f"{limit} s", seconds / limit, 1.0)


def _streamed_row(batch: Values, source: KeystreamSource) -> Row:
    """Peak memory of randomizing and tallying people a batch at a time: as much for 10^8 as for 10^6."""
    first, last = (_streamed_peak(batch, people, source) for people in (STREAMED_AT_FIRST, STREAMED))
    return row_of("peak memory, 10^8 people streamed", last / 1e6, "MB", "that of 10^6", last / first, 1.1)


def _streamed_peak(batch: Values, people: int, source: KeystreamSource) -> float:
    randomizer = ProjectiveGeometryResponse(ONE, INPUTS)
    total = randomizer.tally(randomizer.randomize(batch[:1], source))
    tracemalloc.start()
    for start in range(0, people, len(batch)):
        part = batch[: people - start]
        total = total.merge(randomizer.tally(randomizer.randomize(part, source)))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert total.reports == people + 1
    return float(peak)


def _norm_sub_row(values: Values, source: KeystreamSource) -> Row:
    """How much of the squared error of the raw frequencies is left after projecting them on the simplex."""
    randomizer = ProjectiveGeometryResponse(ONE, INPUTS)
    truth = np.bincount(values, minlength=INPUTS) / len(values)
    raw, projected = 0.0, 0.0
    for _ in range(NORM_SUB_RUNS):
        estimate = randomizer.estimate(randomizer.tally(randomizer.randomize(values, source))).values
        raw += float(np.mean((estimate - truth) ** 2)) / NORM_SUB_RUNS
        projected += float(np.mean((norm_sub(estimate) - truth) ** 2)) / NORM_SUB_RUNS
    return row_of(
        "mean squared error after norm-sub",
        projected * 1e6,
        "x 10^-6",
        "raw",
        projected / raw,
        GAIN_OF_NORM_SUB,
    )


if __name__ == "__main__":
    print_rows(randomizers())
