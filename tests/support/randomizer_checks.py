"""Checks that every local randomizer must pass: exact first, by following every coin of the real sampler.

Each check takes a randomizer and asserts; a broken twin must make it fail (`assert_caught`).  None of them samples:
the laws are enumerated as fractions, and what is compared across calls comes from fixed keys.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from fractions import Fraction
from math import ceil
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from localdp.accounting.epsilon import Epsilon
from localdp.auditing.drawing import FixedSeedSource, packed_report, report_key, stated_law, values_of
from localdp.errors import InvalidParameter, LocalDpError, MalformedReport
from localdp.randomizers.input_kinds import Input
from localdp.randomness.enumerating import enumerate_law
from localdp.randomness.hazmat import SeededSource
from localdp.randomness.lanes import LanedSource
from localdp.randomness.source import RandomSource
from tests.support.randomizer_inputs import some_values, wrong_values

Law = dict[Hashable, Fraction]
Key = Callable[[Any], Hashable]

KEY = bytes(range(32))
TIGHT_NANONATS = 1000  # a randomizer wastes at most 1e-6 nat of what was requested


def _inputs(randomizer: Any, chosen: Iterable[Input] | None) -> Iterable[Any]:
    return range(randomizer.inputs) if chosen is None else chosen


def sampled_law(randomizer: Any, value: Input, key: Key = report_key, seed: int | None = None) -> Law:
    """The exact law of the real sampler, over every coin but those of a public seed."""
    values = values_of(randomizer, value)
    return enumerate_law(lambda source: key(randomizer.randomize(values, seeded(source, seed))[0]))


def seeded(source: RandomSource, seed: int | None) -> RandomSource:
    """The source, with its public words held fixed."""
    return source if seed is None else FixedSeedSource(source, seed)


def largest_ratio(laws: Iterable[Law]) -> Fraction:
    """The largest P[R(x) = w] / P[R(x') = w]; fails when an output of one input is impossible for another."""
    laws = list(laws)
    outputs = set().union(*laws)
    worst = Fraction(1)
    for output in outputs:
        masses = [law.get(output, Fraction(0)) for law in laws]
        assert min(masses) > 0, "an output of one input is impossible for another: no finite epsilon"
        worst = max(worst, max(masses) / min(masses))
    return worst


def check_exact_law(
    randomizer: Any,
    inputs: Iterable[Input] | None = None,
    key: Key = report_key,
    seed: int | None = None,
) -> None:
    """The sampler has the law that `law` states, of mass 1, and exactly the epsilon that is claimed.

    `inputs` must contain a pair that attains the epsilon; all inputs unless told.  `key` turns one report into the key
    of `law`.  A public seed is held fixed, and the law is that of the rest.
    """
    laws = {value: sampled_law(randomizer, value, key, seed) for value in _inputs(randomizer, inputs)}
    for value, law in laws.items():
        assert sum(law.values()) == 1
        assert law == stated_law(randomizer, value, seed), (
            f"the sampler does not have the stated law at input {value}"
        )
    check_epsilon(randomizer, largest_ratio(laws.values()))


def check_epsilon(randomizer: Any, ratio: Fraction) -> None:
    """The claimed epsilon is that of the ratio, rounded up, at most what was requested, and barely less."""
    assert randomizer.epsilon == Epsilon.of_ratio(ratio), "the claimed epsilon is not that of the law"
    requested = getattr(randomizer, "requested", None)
    if requested is not None:
        assert randomizer.epsilon <= requested
        assert requested.nanonats - randomizer.epsilon.nanonats <= TIGHT_NANONATS


def expected_estimate(randomizer: Any, value: Input, power: int = 1) -> NDArray[np.float64]:
    """The exact-law expectation of the estimate (or of its square) from one packed, unpacked and tallied report."""

    expectation: NDArray[np.float64] = np.zeros(1)
    for packed, mass in enumerate_law(lambda source: packed_report(randomizer, value, source)).items():
        estimate = randomizer.estimate(randomizer.tally(randomizer.unpack(packed, 1)))
        values = np.atleast_1d(estimate.values if hasattr(estimate, "values") else estimate.value)
        expectation = expectation + float(mass) * values**power
    return expectation


def true_estimate(randomizer: Any, value: Any) -> NDArray[np.float64]:
    """What one person's estimate must be on average: the indicator of the input, or its place on the grid."""
    if hasattr(randomizer, "resolution"):
        return np.ravel(values_of(randomizer, value) / randomizer.resolution)
    truth: NDArray[np.float64] = np.zeros(randomizer.inputs)
    truth[value] = 1.0
    return truth


def check_unbiased(
    randomizer: Any, inputs: Iterable[Input] | None = None, tolerance: float = 1e-12
) -> None:
    """The estimate from one report is right on average, for every input: so it is for every population."""
    for value in _inputs(randomizer, inputs):
        bias = expected_estimate(randomizer, value) - true_estimate(randomizer, value)
        assert np.abs(bias).max() <= tolerance, f"the estimate is biased at input {value}"


def check_variance(randomizer: Any, inputs: Iterable[int] | None = None, relative: float = 1e-9) -> None:
    """The stated variance is that of one debiased report: at frequency 1 for the input, 0 for the others."""
    for value in _inputs(randomizer, inputs):
        truth = true_estimate(randomizer, value)
        measured = expected_estimate(randomizer, value, 2) - truth**2
        if hasattr(randomizer, "resolution"):
            stated = [randomizer.variance(truth[0])]
        else:
            stated = [randomizer.variance(frequency) for frequency in truth]
        np.testing.assert_allclose(measured, stated, rtol=relative, atol=1e-12)


def check_people_independent(
    randomizer: Any, values: Sequence[Input] = (0, 1), key: Key = report_key, seed: int | None = None
) -> None:
    """The joint law of several people's reports is the product of theirs: no coin is shared, but for a public seed."""
    together = np.concatenate([values_of(randomizer, value) for value in values])
    joint = enumerate_law(
        lambda source: tuple(map(key, randomizer.randomize(together, seeded(source, seed))))
    )
    product: dict[tuple[Hashable, ...], Fraction] = {(): Fraction(1)}
    for law in (sampled_law(randomizer, value, key, seed) for value in values):
        product = {(*p, w): a * b for p, a in product.items() for w, b in law.items()}
    assert joint == product, "the reports of different people are not independent"


def some_reports(randomizer: Any, count: int, seed: int = 0) -> NDArray[Any]:
    """Reports about such inputs, from a fixed seed."""
    reports: NDArray[Any] = randomizer.randomize(some_values(randomizer, count, seed), SeededSource(seed))
    return reports


def check_packing(randomizer: Any, counts: Sequence[int] = (0, 1, 2, 7, 8, 9, 100)) -> None:
    """Reports come back from their bytes; the length depends on their number alone; other lengths are refused."""
    for count in counts:
        reports = some_reports(randomizer, count)
        packed = randomizer.pack(reports)
        assert isinstance(packed, bytes)
        assert len(packed) == len(randomizer.pack(some_reports(randomizer, count, seed=1)))
        assert len(packed) in (
            ceil(count * randomizer.report_bits / 8),
            count * ceil(randomizer.report_bits / 8),
        )
        again = randomizer.unpack(packed, count)
        assert again.dtype == reports.dtype and again.shape == reports.shape
        assert (again == reports).all()
        for wrong in {packed + b"\0", packed[:-1], b""} - {packed}:
            with pytest.raises(MalformedReport):
                randomizer.unpack(wrong, count)


def check_lanes(randomizer: Any, people: int = 60) -> None:
    """A person's report depends on the person's own lane and value alone, not on who else is asked."""
    values = some_values(randomizer, people)
    full = randomizer.randomize(values, LanedSource(KEY, range(people)))
    for chosen in (np.array([3]), np.arange(10, 20), np.array([41, 2, 7, 58, people - 1])):
        part = randomizer.randomize(values[chosen], LanedSource(KEY, chosen))
        assert (part == full[chosen]).all(), "a report depends on who else is asked"
    changed = values.copy()
    changed[::2] = some_values(randomizer, people, seed=1)[::2]
    others = randomizer.randomize(changed, LanedSource(KEY, range(people)))
    assert (others[1::2] == full[1::2]).all(), "a report depends on the values of others"


def check_tally_merges(randomizer: Any, people: int = 200) -> None:
    """Tallies of any grouping, merged in any order, are the tally of all reports, exactly."""
    reports = some_reports(randomizer, people)
    whole = randomizer.tally(reports)
    assert whole.sums.dtype == np.int64 and whole.reports == people
    generator = np.random.default_rng(5)
    for _ in range(5):
        cuts = np.sort(generator.integers(0, people + 1, 6))
        parts = [randomizer.tally(part) for part in np.split(reports[generator.permutation(people)], cuts)]
        while len(parts) > 1:
            one, other = (parts.pop(generator.integers(len(parts))) for _ in range(2))
            parts.append(one.merge(other))
        assert parts[0].reports == people and (parts[0].sums == whole.sums).all()


def check_refuses_inputs(randomizer: Any) -> None:
    """An input past either end is refused."""
    for values in wrong_values(randomizer):
        with pytest.raises(InvalidParameter):
            randomizer.randomize(values, SeededSource(0))


def assert_caught(check: Callable[[Any], None], *twins: Any) -> None:
    """Every broken twin makes the check fail, or is refused by the library itself."""
    for twin in twins:
        try:
            check(twin)
        except (AssertionError, LocalDpError):
            continue
        pytest.fail(f"{getattr(check, '__name__', check)} did not notice {type(twin).__name__}")
