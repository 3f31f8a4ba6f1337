"""y as classes: which there are is public."""

from typing import Any

import numpy as np
import pytest

from localdp.algorithms.at_hand.labels import (
    classes_at_hand,
    encoded,
    read_target,
    require_number_of_classes,
)
from localdp.domains import BitDomain, CategoryDomain
from localdp.errors import InvalidParameter


@pytest.mark.parametrize(
    ("y", "told", "classes"),
    [
        ([True, True], None, [False, True]),
        ([1, 1], None, [0, 1]),
        ([0.0, 1.0], None, [0.0, 1.0]),
        ([-1, 1], (1, -1), [-1, 1]),
        (["ill", "ill"], ["well", "ill"], ["ill", "well"]),
    ],
)
def test_classes_are_those_of_the_type_or_those_that_were_told(
    y: list[Any], told: Any, classes: list[Any]
) -> None:
    assert classes_at_hand(np.array(y), told, own=False).tolist() == classes


@pytest.mark.parametrize("y", [[-1, 1], [0, 1, 2], ["ill", "well"]])
def test_other_classes_are_not_read_off_the_data_unless_nothing_is_promised(y: list[Any]) -> None:
    with pytest.raises(InvalidParameter, match=r"classes=\["):
        classes_at_hand(np.array(y), None, own=False)
    assert classes_at_hand(np.array(y), None, own=True).tolist() == y


@pytest.mark.parametrize("y", [np.array([0.5, 1.0]), np.array([b"a"], "V1")])
def test_what_is_no_class_is_refused(y: np.ndarray) -> None:
    with pytest.raises(InvalidParameter, match="Unknown label type"):
        classes_at_hand(y, None, own=True)


def test_two_classes_are_a_bit_that_holds_for_the_larger_one() -> None:
    domain, values = encoded(np.array(["well", "ill"]), np.array(["ill", "well"]))
    assert domain == BitDomain()
    assert values.tolist() == [True, False]


def test_more_classes_are_a_category() -> None:
    domain, values = encoded(np.array([30, 10]), np.array([10, 20, 30]))
    assert isinstance(domain, CategoryDomain)
    assert len(domain.labels) == 3
    assert values.tolist() == [2, 0]


def test_a_class_that_was_not_told_is_refused() -> None:
    for y in ([0, 2], [0, -1], [0, 1]):
        with pytest.raises(InvalidParameter, match="not among"):
            encoded(np.array(y), np.array([0, 3]))


@pytest.mark.parametrize(("number", "most"), [(1, 2), (3, 2), (300, 256)])
def test_a_learner_has_at_least_two_classes_and_not_more_than_it_can_tell_apart(
    number: int, most: int
) -> None:
    with pytest.raises(InvalidParameter, match="class"):
        require_number_of_classes(np.arange(number), most, "Tree")
    require_number_of_classes(np.arange(2), most, "Tree")


@pytest.mark.parametrize(
    "y",
    [None, [0, 1], [[0, 1, 0]], [0, 1, np.nan], [0, 1, np.inf], [0, 1, 1j], np.ones((3, 2))],
    ids=["none", "short", "row", "nan", "infinite", "complex", "two columns"],
)
def test_a_target_has_one_finite_value_for_each_person(y: Any) -> None:
    with pytest.raises(InvalidParameter):
        read_target(y, 3, "Tree")
    assert read_target([0, 1, 0], 3, "Tree").tolist() == [0, 1, 0]


def test_a_column_vector_is_read_with_a_warning() -> None:
    with pytest.warns(UserWarning, match="column-vector"):
        assert read_target(np.ones((3, 1)), 3, "Tree").shape == (3,)
