"""A selection from sums: what each server computes adds up to the scores, and its sensitivity is read off, not believed."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pytest

from localdp.errors import InvalidParameter
from localdp.sharing.collection import Contributor
from localdp.sharing.encoding import Encoding
from localdp.sharing.noise_plans import NoisePlan
from localdp.sharing.prio3.fields import FIELD64, FIELD128, PrimeField
from localdp.sharing.selection import Selection
from localdp.sharing.selection_law import SelectionLaw
from tests.support.shares import ONE, collection_of

HISTOGRAM, BITS = Encoding.histogram(5), Encoding.vector(3, 1, 3)
ROWS = np.array([[0, 1, 1, 0, 1], [1, 0, 0, 0, 0], [1, 1, 1, 1, 1]])
SELECTIONS: dict[str, tuple[Selection, Encoding]] = {
    "largest": (Selection("largest", 5), HISTOGRAM),
    "largest of conditions": (Selection("largest", 3), BITS),
    "largest by rows": (Selection("largest", 3, (), Selection.packed_weights(ROWS)), HISTOGRAM),
    "furthest": (Selection("furthest", 3, (4, -2, 0)), BITS),
    "furthest by weights": (
        Selection("furthest", 3, (0, 7, 30_000), Selection.packed_weights(ROWS * 65_536)),
        HISTOGRAM,
    ),
    "quantile": (Selection("quantile", 5, (6,)), HISTOGRAM),
}
every = pytest.mark.parametrize(("selection", "encoding"), SELECTIONS.values(), ids=SELECTIONS.keys())


def scores(selection: Selection, sums: np.ndarray[Any, Any]) -> list[int]:
    """The definition, in the clear."""
    if selection.rule == "quantile":
        upto = np.cumsum(sums)
        below, rank = upto - sums, selection.offsets[0]
        return [-max(int(b) - rank, rank - int(u), 0) for b, u in zip(below, upto, strict=True)]
    rows = selection.rows(len(sums))
    plain = sums if rows is None else rows @ sums
    if selection.rule == "largest":
        return [int(one) for one in plain]
    return [abs(int(one) - offset) for one, offset in zip(plain, selection.offsets, strict=True)]


def from_compared(selection: Selection, numbers: list[int]) -> list[int]:
    if selection.rule == "quantile":
        return [min(-before, upto, 0) for before, upto in pairwise(numbers)]
    return numbers if selection.rule == "largest" else [abs(one) for one in numbers]


@every
@pytest.mark.parametrize("field", [FIELD64, FIELD128], ids=["64", "128"])
def test_what_servers_compute_by_themselves_adds_up(
    selection: Selection, encoding: Encoding, field: PrimeField
) -> None:
    generator = np.random.default_rng(3)
    p = field.modulus
    for _ in range(5):
        sums = generator.integers(0, 20, encoding.length)
        parts = [[int(one) for one in generator.integers(0, 1 << 62, encoding.length)] for _ in range(2)]
        parts.append([(int(s) - a - b) % p for s, a, b in zip(sums, *parts, strict=True)])
        shares = [
            selection.shares_of_scores(field, part, first=number == 0) for number, part in enumerate(parts)
        ]
        whole = [sum(column) % p for column in zip(*shares, strict=True)]
        signed = [one - p if one > p // 2 else one for one in whole]
        assert from_compared(selection, signed) == scores(selection, sums)


@every
def test_replacing_one_record_moves_no_score_further_than_the_sensitivity(
    selection: Selection, encoding: Encoding
) -> None:
    if encoding.kind == "histogram":
        values = np.eye(encoding.length, dtype=np.int64)
    else:
        values = np.array([[n >> j & 1 for j in range(3)] for n in range(8)])
    rest = values.sum(axis=0) * 2
    found = [scores(selection, rest + one) for one in values]
    moved = max(
        abs(a - b) for one, other in combinations(found, 2) for a, b in zip(one, other, strict=True)
    )
    assert moved == selection.sensitivity(encoding)


def joint(**changes: Any) -> Any:
    selection, encoding = SELECTIONS["quantile"]
    made: dict[str, Any] = {"selection": selection, "encoding": encoding, "plan": NoisePlan.JOINT}
    return collection_of(servers=("a", "b", "c"), **(made | changes))


def test_a_collection_says_what_is_selected_and_at_which_price() -> None:
    collection = joint()
    assert collection.selection_law == SelectionLaw.of(ONE, 1)
    assert collection.delta == SelectionLaw.of(ONE, 1).delta(5)
    assert collection.published_elements == 1
    assert joint(selection=None).selection_law is None


def test_everything_about_a_selection_is_in_the_digest() -> None:
    plain, weighted = SELECTIONS["quantile"][0], SELECTIONS["furthest by weights"][0]
    others = [
        None,
        replace(plain, offsets=(7,)),
        Selection("largest", 5),
        Selection("furthest", 5, (1, 2, 3, 4, 5)),
        weighted,
        replace(weighted, weights=Selection.packed_weights(ROWS * 65_535)),
    ]
    digests = {joint(selection=one).digest for one in [plain, *others]}
    assert len(digests) == 1 + len(others)


REFUSED: dict[str, Any] = {
    "a plan of addition": {"plan": NoisePlan.EACH_SERVER},
    "another number of candidates": {"selection": Selection("quantile", 4, (6,))},
    "a quantile of conditions": {"encoding": BITS, "selection": Selection("quantile", 3, (6,))},
    "weights on conditions": {"encoding": BITS, "selection": Selection("largest", 3, (), bytes(2))},
    "weights of another length": {"selection": Selection("largest", 3, (), bytes(5))},
    "a weight beyond 65,536": {"selection": Selection("largest", 1, (), b"\xff" * 20)},
    "a rank that nobody can have": {"selection": Selection("quantile", 5, (-(1 << 30),))},
    "too many people": {"parties": (Contributor("party-0", 1 << 31),)},
    "an epsilon with a large delta": {"epsilon": ONE * 40},
    "an epsilon of endless noise": {"epsilon": type(ONE)(1)},
}


@pytest.mark.parametrize("changes", REFUSED.values(), ids=REFUSED.keys())
def test_what_servers_could_not_select_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameter):
        joint(**changes)


@pytest.mark.parametrize(
    "made",
    [
        lambda: Selection("best", 5),  # type: ignore[arg-type]
        lambda: Selection("largest", 0),
        lambda: Selection("largest", 5, (1,)),
        lambda: Selection("furthest", 2, (1,)),
        lambda: Selection("quantile", 5, (1 << 31,)),
    ],
)
def test_what_is_no_selection_is_refused(made: Any) -> None:
    with pytest.raises(InvalidParameter):
        made()


def test_as_many_people_as_there_is_room_for_are_served() -> None:
    assert joint(parties=(Contributor("party-0", (1 << 30) - 1),)).delta < 2**-40
    numbers = Encoding.vector(3, 65_536, 3 * 65_536)
    few = joint(selection=Selection("largest", 3), encoding=numbers, parties=(Contributor("p", 24_575),))
    assert few.selection_law.sensitivity == 65_536
    with pytest.raises(InvalidParameter, match="ask fewer people, or about conditions"):
        joint(selection=Selection("largest", 3), encoding=numbers, parties=(Contributor("p", 24_576),))
