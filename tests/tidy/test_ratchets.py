"""Figures of the source that only ever get better: `ratchets.toml` has them, `figures.py` counts them."""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.tidy import figures
from tests.tidy.collected import too_few

FIGURES: dict[str, Callable[[], int]] = {
    "longest_file": figures.longest_file,
    "longest_function_of_localdp": functools.partial(figures.longest_function, "localdp"),
    "longest_function_of_parties": functools.partial(figures.longest_function, "parties"),
    "times_any": figures.times_any,
    "double_class_names": figures.double_class_names,
    "repeated_runs": figures.repeated_runs,
    "files_naming_a_model": figures.files_naming_a_model,
}
AT_MOST: dict[str, int] = tomllib.loads((Path(__file__).parent / "ratchets.toml").read_text())["at_most"]


def test_every_figure_has_a_ratchet() -> None:
    assert set(AT_MOST) == set(FIGURES)


@pytest.mark.parametrize("name", FIGURES)
def test_no_figure_gets_worse_and_what_got_better_is_written_down(name: str) -> None:
    figure, limit = FIGURES[name](), AT_MOST[name]
    assert figure <= limit
    assert limit <= figure * 21 // 20 + 1, f"write {name} = {figure} into ratchets.toml"


def test_a_run_of_everything_needs_enough_tests() -> None:
    assert (
        too_few(["a", "b"], 3)
        == "2 test functions were collected, and there were 3 at least: what is gone?"
    )
    assert too_few(["a", "b", "b"], 2) is None
