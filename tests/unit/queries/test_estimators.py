"""Estimates of blocks: what they are, and that a block's own people alone make them, bit by bit."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from localdp.queries import estimators
from localdp.queries.estimators import ESTIMATORS, BlockEstimator, Blocking, BlockInputs
from localdp.randomness.source import Floats

SIZES = np.array([7, 6, 6, 9, 5], np.int64)
PEOPLE = int(SIZES.sum())
GENERATOR = np.random.default_rng(4)
ORDER = GENERATOR.permutation(PEOPLE).astype(np.int64)
BLOCKING = Blocking(ORDER, SIZES)
LOW, HIGH = -2.0, 3.0
TABLE = GENERATOR.uniform(-1, 1, (4, PEOPLE))
MEMBERS = np.split(ORDER, np.cumsum(SIZES)[:-1])


def table_for(name: str) -> Floats:
    """Inputs that an estimator takes: conditions where it wants some."""
    row, table = ESTIMATORS[name], TABLE.copy()
    wanted = len(table) if row.conditions < 0 else row.conditions
    table[:wanted] = table[:wanted] > 0
    return table[: max(2, row.least_inputs)] if row.most_inputs > 1 else table[:1]


def estimated(row: BlockEstimator, table: Floats, blocking: Blocking = BLOCKING) -> Floats:
    return row.of_blocks(BlockInputs(lambda place: table[place], len(table), blocking, LOW, HIGH))


def by_least_squares(table: Floats) -> float:
    features = np.column_stack([table[1:].T, np.ones(table.shape[1])])
    return float(np.linalg.lstsq(features, table[0], rcond=None)[0][0])


def by_agreement(table: Floats) -> float:
    target, others = 2 * table[0] - 1, 2 * table[1:] - 1
    return float(np.argmax(np.abs(others @ target)))


PLAIN: dict[str, Callable[[Floats], float]] = {
    "mean": lambda table: float(table[0].mean()),
    "median": lambda table: float(np.sort(table[0])[(len(table[0]) - 1) // 2]),
    "deviation": lambda table: float(table[0].std()),
    "slope": by_least_squares,
    "best": by_agreement,
}


@pytest.mark.parametrize("name", PLAIN)
def test_an_estimate_is_what_its_name_says_of_every_block(name: str) -> None:
    table = table_for(name)
    plain = [PLAIN[name](table[:, members]) for members in MEMBERS]
    assert estimated(ESTIMATORS[name], table) == pytest.approx(plain, abs=1e-6)


def test_a_logistic_regression_is_where_the_gradient_vanishes() -> None:
    people, slope = 4000, 0.8
    feature = GENERATOR.normal(size=people).clip(-3, 3)
    label = (GENERATOR.random(people) < 1 / (1 + np.exp(-slope * feature - 0.3))).astype(float)
    table, blocking = np.stack([label, feature]), Blocking(np.arange(people), np.array([people]))
    (found,) = estimated(ESTIMATORS["logistic"], table, blocking)
    assert found == pytest.approx(slope, abs=4 * 2.3 / np.sqrt(people))

    def score(coefficient: float) -> float:
        """The gradient for the coefficient, at the best intercept."""
        low, high = -5.0, 5.0
        for _ in range(60):
            middle = (low + high) / 2
            rest = float((label - 1 / (1 + np.exp(-coefficient * feature - middle))).sum())
            low, high = (middle, high) if rest > 0 else (low, middle)
        return float((feature * (label - 1 / (1 + np.exp(-coefficient * feature - low)))).sum())

    assert score(found - 1e-4) > 0 > score(found + 1e-4)


def test_separable_and_constant_blocks_have_estimates_that_are_numbers() -> None:
    feature = np.array([-1.0, -1.0, 1.0, 1.0] * 2 + [0.5] * 4)
    table, blocking = (
        np.stack([feature > 0, feature]).astype(float),
        Blocking(np.arange(12), np.array([4, 4, 4])),
    )
    for name in ("logistic", "slope", "deviation", "median"):
        assert np.isfinite(estimated(ESTIMATORS[name], table, blocking)).all()


SCALES = (0.0, 1.0, 3.7, 120.0, 1e-20, 1e-150, 1e-300, 1e6, 1e12, 1e32, 1e150, 1e300)


def hostile_line(draws: np.random.Generator, people: int, others: list[Floats]) -> Floats:
    """What a matrix of it and the others makes hard to solve, or impossible."""
    scale, kind = float(draws.choice(SCALES)), draws.integers(7)
    if kind < 2 and others:
        factor = draws.choice([1.0, -1.0, 0.0, 3.0, 1e-9, 1 + 1e-15])
        return others[int(draws.integers(len(others)))] * float(factor)
    if kind == 2 and len(others) > 1:
        return others[0] / 2 - others[1] / 2
    if kind == 3:
        return np.full(people, scale)
    if kind == 4:
        return np.where(draws.random(people) < draws.choice([0.0, 0.02, 0.5, 1.0]), scale, 0.0)
    if kind == 5:
        return scale * draws.uniform(-1, 1, people)
    return draws.choice([0.0, scale, -scale, 1.0], people)


def hostile(draws: np.random.Generator, inputs: int, blocks: int) -> tuple[Floats, Blocking]:
    """So many blocks, of 1 to 9 people, each of them hard in a way of its own; the target is a condition."""
    sizes = draws.integers(1, 10, blocks)
    made = []
    for people in sizes:
        lines: list[Floats] = []
        while len(lines) < inputs - 1:
            lines.append(hostile_line(draws, int(people), lines))
        made.append(np.stack([draws.random(people) < draws.choice([0.0, 0.5, 1.0]), *lines]))
    return np.concatenate(made, axis=1), Blocking(np.arange(sizes.sum()), sizes)


def unsound(name: str, blocks: int, inputs: int) -> bool:
    """Whether people of some blocks are refused an estimate, have none, or have another beside other people."""
    draws = np.random.default_rng([blocks, inputs])
    table, blocking = hostile(draws, inputs, blocks)
    try:
        found = estimated(ESTIMATORS[name], table, blocking)
        changed = np.repeat(np.arange(blocks) % 2 == 0, blocking.sizes)
        other = np.where(changed, draws.permuted(table, axis=1) * draws.choice(SCALES), table)
        other[0] = table[0]
        kept = estimated(ESTIMATORS[name], other, blocking)[1::2]
    except np.linalg.LinAlgError:
        return True
    return not np.isfinite(found).all() or bool((found[1::2].view(np.int64) != kept.view(np.int64)).any())


@pytest.mark.parametrize("inputs", [2, 3, 5, 9])
@pytest.mark.parametrize("name", ["slope", "logistic"])
def test_every_block_has_an_estimate_however_hard_its_people_make_it(name: str, inputs: int) -> None:
    assert not unsound(name, 1000, inputs)


def by_numpy(matrices: Floats, right: Floats, blocking: Blocking) -> Floats:
    """As it was: a ridge that vanishes beside large numbers, and an error for all if one block has no solution."""
    ridge = 1e-9 * blocking.sizes[:, None, None] * np.eye(len(matrices))
    solved = np.linalg.solve(np.moveaxis(matrices, 2, 0) + ridge, right.T[:, :, None])
    return solved[:, :, 0].T.astype(np.float64)


@pytest.mark.parametrize("name", ["slope", "logistic"])
def test_a_solver_that_raises_would_be_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(estimators, "_solved", by_numpy)
    assert unsound(name, 200, 5)


def test_a_ridge_that_others_have_a_part_in_would_be_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The broken twin: lines are brought to a size that all blocks have together."""
    solved = estimators._solved

    def together(matrices: Floats, right: Floats, blocking: Blocking) -> Floats:
        size = np.sqrt(matrices[0, 0].mean()) + 1
        return solved(matrices / size, right / size, blocking)

    monkeypatch.setattr(estimators, "_solved", together)
    assert unsound("slope", 200, 5)


@pytest.mark.parametrize("name", ["slope", "logistic"])
def test_blocks_in_pieces_have_the_same_estimates(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    table = table_for(name)
    whole = estimated(ESTIMATORS[name], table)
    monkeypatch.setattr(estimators, "_ENTRIES_AT_ONCE", 2 * len(table) ** 2)
    assert (whole == estimated(ESTIMATORS[name], table)).all()


def test_collinear_inputs_share_what_either_would_have() -> None:
    table = table_for("slope")
    twice = np.stack([table[0], table[1], table[1]])
    assert 2 * estimated(ESTIMATORS["slope"], twice) == pytest.approx(
        estimated(ESTIMATORS["slope"], table[:2]), abs=1e-6
    )


@pytest.mark.parametrize("scale", [1e-2, 1e6, 1e12])
def test_a_slope_does_not_depend_on_units(scale: float) -> None:
    table = table_for("slope")
    other = table.copy()
    other[1] *= scale
    assert scale * estimated(ESTIMATORS["slope"], other) == pytest.approx(
        estimated(ESTIMATORS["slope"], table), rel=1e-5, abs=1e-6
    )


def others_moved(row: BlockEstimator, table: Floats) -> bool:
    """Whether a person of one block can move the estimate of another one by a bit."""
    before = estimated(row, table)
    for person in range(PEOPLE):
        other = table.copy()
        other[:, person] = 1 - other[:, person]
        own = next(number for number, members in enumerate(MEMBERS) if person in members)
        moved = before.view(np.int64) != estimated(row, other).view(np.int64)
        moved[own] = False
        if moved.any():
            return True
    return False


@pytest.mark.parametrize("name", ESTIMATORS)
def test_nobody_moves_the_estimate_of_another_block(name: str) -> None:
    assert not others_moved(ESTIMATORS[name], table_for(name))


def test_an_estimator_that_looks_at_everybody_would_be_found() -> None:
    """The broken twin: numbers are brought to a mean of 0 over all people first."""

    def centred(inputs: BlockInputs) -> Floats:
        values = inputs[0] - inputs[0].mean()
        return inputs.blocking.sums(values) / inputs.blocking.sizes

    assert others_moved(BlockEstimator("mean", 1, 1, centred, lambda inputs: 2), table_for("mean"))


def test_sums_along_all_people_would_be_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The broken twin: a block's sum is a difference of two running sums, which rounds by what others have."""

    def running(blocking: Blocking, values: Floats) -> Floats:
        sums = np.cumsum(values, axis=-1)
        ends = np.cumsum(blocking.sizes) - 1
        return np.diff(sums[..., ends], prepend=0.0, axis=-1)

    monkeypatch.setattr(Blocking, "sums", running)
    assert others_moved(ESTIMATORS["deviation"], table_for("deviation"))


def test_the_number_of_steps_does_not_depend_on_values() -> None:
    assert estimators._HALVINGS == 40 and estimators._NEWTON_STEPS == 12
    for name, row in ESTIMATORS.items():
        calls = []
        for table in (table_for(name), np.zeros_like(table_for(name)), np.ones_like(table_for(name))):
            _Counting.calls = 0
            estimated(row, table, _Counting(ORDER, SIZES))
            calls.append(_Counting.calls)
        assert len(set(calls)) == 1 and calls[0] > 0, name


class _Counting(Blocking):
    calls = 0

    def sums(self, values: Floats) -> Floats:
        _Counting.calls += 1
        return super().sums(values)
