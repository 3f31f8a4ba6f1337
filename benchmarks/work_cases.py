"""What predicted work is compared with: a table, queries of every kind of node, every randomizer, and some collections."""

from __future__ import annotations

import os
from collections.abc import Iterator

import numpy as np

from localdp.accounting.epsilon import Epsilon
from localdp.domains import BitDomain, CategoryDomain, IntegerDomain, RealDomain, Records, Schema
from localdp.randomizers.coordinate_sampling import CoordinateSampling
from localdp.randomizers.count_mean_sketch import CountMeanSketch, HadamardCountMeanSketch
from localdp.randomizers.definition import LocalRandomizer
from localdp.randomizers.finite_channel import FiniteChannel
from localdp.randomizers.haar import HaarRanges
from localdp.randomizers.hadamard import HadamardResponse
from localdp.randomizers.hierarchy import HierarchicalRanges
from localdp.randomizers.hybrid import HybridRandomizer
from localdp.randomizers.k_ary import KaryRandomizedResponse
from localdp.randomizers.local_hashing import OptimalLocalHashing
from localdp.randomizers.local_laplace import LocalDiscreteLaplace
from localdp.randomizers.marginals import HadamardMarginals
from localdp.randomizers.memoised import MemoisedUnary
from localdp.randomizers.memoised_hashing import MemoisedHashing
from localdp.randomizers.one_bit import OneBitRandomizer
from localdp.randomizers.piecewise import PiecewiseRandomizer
from localdp.randomizers.priv_unit import PrivUnit
from localdp.randomizers.projective_geometry import ProjectiveGeometryResponse
from localdp.randomizers.rappor import BasicRappor, BloomRappor, TwoRounds
from localdp.randomizers.recursive_hadamard import RecursiveHadamardResponse
from localdp.randomizers.square_wave import SquareWave
from localdp.randomizers.subset_selection import SubsetSelection
from localdp.randomizers.unary import OptimizedUnaryEncoding, SymmetricUnaryEncoding
from localdp.sharing.binding import Binding
from localdp.sharing.collection import Collection, Contributor, Tier
from localdp.sharing.encoding import Encoding
from localdp.sharing.noise_plans import NoisePlan

PEOPLE = 1_000_000
ONE, HALF = Epsilon.requested(1), Epsilon.requested("0.5")
SCHEMA = Schema(
    {
        "smoker": BitDomain(),
        "old": BitDomain(),
        "age": IntegerDomain(0, 120),
        "height": RealDomain(0.0, 2.5),
        "weight": RealDomain(0.0, 250.0),
        "town": CategoryDomain(tuple(f"t{number}" for number in range(8))),
        "code": IntegerDomain(0, 65535),
    }
)
_ROUNDS = TwoRounds(1 << 62, 1 << 62, 3 << 62)
_BALL = "ball(age/120, height/3, weight/250, smoker)"

Case = tuple[str, LocalRandomizer]


def table(people: int = PEOPLE) -> Records:
    """Random values, the same in every run."""
    draw = np.random.default_rng(1)
    return Records(
        SCHEMA,
        {
            "smoker": draw.random(people) < 0.3,
            "old": draw.random(people) < 0.5,
            "age": draw.integers(0, 121, people),
            "height": draw.random(people) * 2.5,
            "weight": draw.random(people) * 250,
            "town": draw.integers(0, 8, people),
            "code": draw.integers(0, 65536, people),
        },
    )


def _listed(word: str, *parts: str, times: int = 1) -> str:
    return f"{word}({', '.join(parts * times)})"


def _ball(times: int) -> str:
    return _listed("ball", "age/120", "height/3", "weight/250", "smoker", times=times)


def _rationals(forms: int) -> str:
    """Conditions on sums whose numbers have as many digits as they may."""
    numbers = iter(range(10**29 + 1, 10**29 + 10**6, 2))
    columns = ("age", "height", "weight", "code")
    terms = (
        " + ".join(f"{next(numbers)}/{next(numbers)}*{name}" for name in columns) for _ in range(forms)
    )
    return _listed("which", *(f"{form} < {place}" for place, form in enumerate(terms)))


BITS = (
    "smoker",
    "true",
    "not smoker",
    " and ".join(["smoker", "old"] * 4),
    " or ".join(["smoker", "old"] * 500),
    _listed("parity", "smoker", "old", times=4),
    "age < 30",
    "height < 1.7",
    "age < weight",
    "2*age + height < 100.5",
    " and ".join(["age < 30"] * 300),
    'town in {"t1", "t2"}',
    'town == "t1"',
    "if smoker then old else if age < 30 then smoker else true",
)
UNITS = (
    "clip(age/120)",
    "clip(age/120 + height/10 + weight/1000)",
    "if smoker then 0.5 else clip(age/120)",
)
CODES = (
    (_listed("which", "smoker", "old", times=4), 9),
    (_listed("which", "smoker", "old", times=1000), 2001),
    (_rationals(200), 201),
    ("cells(smoker, town, age)", 1936),
    (f"nearest({_BALL}, [0, 0, 0, 0], [0.1, 0.2, 0.1, 0], [0.5, 0.5, 0.1, 0])", 3),
    (f"nearest({_BALL}, {', '.join(['[0, 0.1, 0.2, 0.3]'] * 300)})", 300),
)
VECTORS = (
    (_BALL, 4),
    (_ball(16), 64),
    (_listed("sphere", "age/120", "height/3", "weight/250", "smoker"), 4),
    (f"signed(smoker, {_BALL})", 4),
    (f"moments({_BALL})", 10),
    (f"moments({_ball(8)})", 528),
    (f"moments({_BALL}, old)", 14),
    (f"gradient(logistic, [0.1, 0.2, 0.3, 0.4], {_BALL}, smoker)", 4),
    (f"at(town, {_BALL})", 32),
    ("vector(smoker, clip(age/120), old)", 3),
)


def queries() -> Iterator[Case]:
    """Queries of every kind of node, with the least that a randomizer draws for them."""
    for text in BITS:
        yield text, OneBitRandomizer(ONE)
    for text in UNITS:
        yield text, OneBitRandomizer(ONE, 1024)
    for text, values in CODES:
        yield text, KaryRandomizedResponse(ONE, values)
    for text, length in VECTORS:
        yield text, PrivUnit(ONE, length, candidates=2)
    yield "parities(2, smoker, old, age < 30)", HadamardMarginals(ONE, 3, 2)


def _categories() -> Iterator[Case]:
    for text, inputs in (("town", 8), ("age", 121), ("code", 65536)):
        yield text, KaryRandomizedResponse(ONE, inputs)
        yield text, HadamardResponse(ONE, inputs)
        yield text, RecursiveHadamardResponse(ONE, inputs)
        yield text, ProjectiveGeometryResponse(ONE, inputs)
        yield text, SquareWave(ONE, inputs)
        yield text, HaarRanges(ONE, inputs)
    for text, inputs in (("town", 8), ("age", 121), ("cells(town, age)", 968)):
        yield text, SubsetSelection(ONE, inputs)
        yield text, OptimizedUnaryEncoding(ONE, inputs)
        yield text, SymmetricUnaryEncoding(ONE, inputs)
        yield text, HierarchicalRanges(ONE, inputs, 4)
        yield text, BasicRappor(_ROUNDS, inputs)
        yield text, MemoisedUnary(HALF, inputs, OptimizedUnaryEncoding(ONE, inputs))
    for text, inputs in (("town", 8), ("age", 121)):
        yield text, FiniteChannel(_matrix(inputs))


def _matrix(inputs: int) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(3 if row == column else 1 for column in range(inputs)) for row in range(inputs))


def _hashed() -> Iterator[Case]:
    for text in ("town", "age", "code"):
        yield text, OptimalLocalHashing(ONE)
        yield text, CountMeanSketch(ONE, 16, 1024, 1)
        yield text, HadamardCountMeanSketch(ONE, 16, 1024, 1)
        yield text, BloomRappor(_ROUNDS, 128, 2, 8, 1)
        yield text, MemoisedHashing(HALF, ONE, 16)


def _numbers() -> Iterator[Case]:
    for resolution in (1 << 10, 1 << 16):
        yield "clip(age/120)", OneBitRandomizer(ONE, resolution)
        yield "clip(age/120)", PiecewiseRandomizer(ONE, resolution)
        yield "clip(age/120)", HybridRandomizer(ONE, resolution)
        yield "clip(age/120)", LocalDiscreteLaplace(ONE, resolution)
    for times in (1, 16, 250):
        cube = _listed("vector", "smoker", "clip(age/120)", "old", "clip(height/3)", times=times)
        yield cube, CoordinateSampling(ONE, 4 * times, 1024)
    for times, candidates in ((1, 128), (1, 2048), (16, 128), (250, 128), (250, 2048)):
        yield _ball(times), PrivUnit(ONE, 4 * times, candidates=candidates)


def draws() -> Iterator[Case]:
    """Every randomizer, small and large."""
    yield from _categories()
    yield from _hashed()
    yield from _numbers()
    many = ", ".join(["smoker", "old", "age < 30"] * 8)
    yield f"parities(3, {many})", HadamardMarginals(ONE, 24, 3)


def collections() -> Iterator[Collection]:
    """Some encodings, in both tiers."""
    count, cells, vector = Encoding.count(), Encoding.histogram(121), Encoding.vector(3, 1 << 16, 3 << 16)
    tiers: tuple[Tier, ...] = ("additive", "prio3")
    for tier in tiers:
        for servers in (2, 4):
            yield _collection("smoker", count, tier, servers)
            yield _collection("clip(age/120)", Encoding.sum(1 << 16), tier, servers)
            yield _collection("age", cells, tier, servers)
            yield _collection("vector(smoker, clip(age/120), old)", vector, tier, servers)


def _collection(query: str, encoding: Encoding, tier: Tier, servers: int) -> Collection:
    names = tuple(f"server-{number}" for number in range(servers))
    plan, party = NoisePlan("each-server", 0), Contributor("party", PEOPLE)
    keys = tuple(os.urandom(32) for _ in names)
    binding = Binding(keys, keys, os.urandom(32))
    return Collection(os.urandom(16), query, encoding, ONE, plan, names, (party,), 2, binding, tier)
