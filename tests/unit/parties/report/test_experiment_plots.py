"""The plots of a report: axes, marks and predictions, also of sparse and extreme numbers."""

from __future__ import annotations

import re

import pytest

from localdp.errors import InvalidParameter
from localdp.experiments.panels import LARGEST, Panel, Point
from localdp.oracles.compared import COMPARED
from localdp.oracles.definition import normal_width
from parties.report.drawing import panel_svg, styles_of, tick


def panel_of(*values: float | None, parameter: str = "people", measure: str = "error") -> Panel:
    points = [
        Point("local", at, value, 3, None, value) for at, value in zip((1, 10, 100), values, strict=False)
    ]
    return Panel("", parameter, measure, tuple(points))


@pytest.mark.parametrize("parameter", ["people", ""])
@pytest.mark.parametrize(
    "values",
    [
        (),
        (None, None),
        (0.0,),
        (0.0, 0.0),
        (1.0,),
        (1e-300, LARGEST),
        (-1.0, 2.0),
        (5e-324, 1.0),
        (0.0, 1.0, 100.0),
    ],
)
def test_sparse_and_extreme_numbers_are_drawn_without_complaint(
    values: tuple[float | None, ...], parameter: str
) -> None:
    assert "<svg" in panel_svg(panel_of(*values, parameter=parameter), "salt")


def test_axes_are_logarithmic_where_errors_span_much_and_never_for_scores() -> None:
    wide, narrow = panel_svg(panel_of(0.001, 1.0), "s"), panel_svg(panel_of(0.5, 1.0), "s")
    score = panel_svg(panel_of(0.001, 1.0, measure="score"), "s")
    assert ">0.01<" in wide and ">0.01<" not in narrow and ">0.01<" not in score
    assert [tick(value) for value in (0, 0.25, 1e-4, 2e-5, 1000, 30_000, 1e6, 0.001)] == [
        *("0", "0.25", "1e-4", "2e-5", "1k", "30k", "1M", "0.001")
    ]


@pytest.mark.parametrize(
    "names",
    [
        ["curator, Laplace noise", "curator, Gaussian noise"],
        ["exact", "curator", "shared", "local", "fresh people"],
        ["every bit by itself", "messages", "signatures", "rows copied", "curator, epsilon = 1"],
        [f"road {number}" for number in range(12)],
        [f"curator, {number}" for number in range(40)],
    ],
)
def test_no_two_series_of_a_plot_look_alike(names: list[str]) -> None:
    styles = styles_of(names)
    assert list(styles) == names and len(set(styles.values())) == len(names)
    for name in set(names) & set(COMPARED):
        assert styles[name] == (COMPARED[name].colour, COMPARED[name].mark)


def test_predictions_are_dashed_and_points_have_bars() -> None:
    points = tuple(Point("local", at, 1.0 + at, 3, 0.5, 2.0 + at) for at in (1, 2, 3))
    with_both = panel_svg(Panel("", "people", "error", points), "s")
    bare = tuple(Point("local", at, 1.0 + at, 3) for at in (1, 2, 3))
    without = panel_svg(Panel("", "people", "error", bare), "s")
    assert with_both.count("stroke-dasharray") == 2  # the line, and its like in the legend
    assert ">predicted<" in with_both and "LineCollection" in with_both
    refused = tuple(Point("local", at, None, 0, None, 1.0 + at) for at in (1, 2, 3))
    assert ">local<" in panel_svg(Panel("", "people", "error", refused), "s")
    assert "stroke-dasharray" not in without and ">predicted<" not in without


def test_bars_are_half_of_the_interval_at_95_percent() -> None:
    """Those of 1 ± 1 and of 3 ± 1 meet at 2."""
    points = tuple(
        Point("local", at, value, 3, 1 / normal_width(0.95)) for at, value in ((1, 1.0), (2, 3.0))
    )
    assert [point.half_width for point in points] == pytest.approx([1.0, 1.0])
    _, _, bars = panel_svg(Panel("", "people", "score", points), "s").partition("LineCollection")
    low, high = re.findall(r"M \S+ (\S+) \nL \S+ (\S+)", bars)[:2]
    assert low[1] == high[0]


def test_a_number_beyond_all_measure_is_no_point() -> None:
    for number in (float("inf"), float("nan"), 2 * LARGEST):
        with pytest.raises(InvalidParameter):
            Point("local", 1, number, 1)
    with pytest.raises(InvalidParameter):
        Point("local", 1, 1.0, 1, error=-1.0)
