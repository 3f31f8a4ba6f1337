"""Results as a person reads them: one line, a table for notebooks, data frames, a picture."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pytest

from localdp.accounting.claim import PrivacyClaim
from localdp.accounting.epsilon import Epsilon
from localdp.asking.result import Terms
from localdp.asking.statistic import Form, Statistic
from localdp.asking.tabulation import MOST_LINES, Tabulation
from localdp.errors import InvalidParameter
from localdp.oracles.definition import Answer, GridNoise, VectorAnswer, normal_width
from localdp.sharing.summed_noise import SummedNoise

TERMS = Terms(18_710, 18_710, 0.95, PrivacyClaim.of_curator(Epsilon.requested(0.5)))


def statistic(value: float = 904.0, form: Form = Form.COUNT, answered: int = 18_710) -> Statistic:
    terms = Terms(18_710, answered, 0.95, TERMS.claim)
    return Statistic("count of smoker", value, value - 8, value + 8, terms, form, 0.0, 18_710.0)


def tabulation(cells: int = 3) -> Tabulation:
    labels = tuple((f"ward {place}",) for place in range(cells))
    shares = np.linspace(-0.001, 0.5, cells)
    return Tabulation("histogram of ward", ("ward",), labels, shares, np.full(cells, 0.002), TERMS)


def test_a_count_is_one_line() -> None:
    assert str(statistic()) == "904 ± 8 (95 %) of 18,710 people"


def test_who_did_not_answer_is_said() -> None:
    assert str(statistic(answered=12_000)) == "904 ± 8 (95 %) of 18,710 people, 12,000 answered"


def test_an_estimate_outside_of_the_range_has_a_word_about_why() -> None:
    assert str(statistic(-3.0)).endswith("; below 0 because of the noise: read it as close to 0")


def test_a_share_a_mean_and_a_place_have_their_own_form() -> None:
    share = Statistic("share", 0.0483, 0.0479, 0.0487, TERMS, Form.SHARE)
    assert str(share) == "4.830 % ± 0.040 % (95 %) of 18,710 people"
    mean = Statistic("mean of stay", 8.13, 8.0, 8.26, TERMS)
    assert str(mean) == "8.13 ± 0.13 (95 %) for 18,710 people"
    place = Statistic("median of age", 47, 45, 49, TERMS, Form.PLACE)
    assert str(place) == "47 (45 to 49 at 95 %) for 18,710 people"


def test_a_statistic_is_a_number_with_its_terms() -> None:
    found = statistic()
    assert float(found) == 904
    assert (found.half_width, found.model, found.epsilon, found.level) == (8, "curator", 0.5, 0.95)
    assert "curator" in found.claim.statement()


@pytest.mark.parametrize("result", [statistic(), tabulation()])
def test_every_result_turns_into_frames_json_and_html(result: Statistic | Tabulation) -> None:
    rows = len(result) if isinstance(result, Tabulation) else 1
    assert result.to_pandas().shape[0] == result.to_polars().height == result.to_arrow().num_rows == rows
    told = json.loads(json.dumps(result.to_dict()))
    assert (told["people"], told["epsilon"], told["model"]) == (18_710, 0.5, "curator")
    assert "<table>" in result._repr_html_() and "18,710 people" in result._repr_html_()


def test_labels_cannot_break_a_page() -> None:
    labels = (("<script>",),)
    made = Tabulation("x", ("ward",), labels, np.array([1.0]), np.array([0.1]), TERMS)
    assert "<script>" not in made._repr_html_()


@pytest.mark.parametrize("by", ["count", "low", "share", "people", "name", "privacy"])
def test_a_column_that_is_called_as_a_figure_keeps_its_labels(by: str) -> None:
    made = Tabulation("x", (by,), (("a",), ("b",)), np.array([0.25, 0.75]), np.zeros(2), TERMS)
    told = made.to_dict()
    assert told[f"{by}_2"] == made.to_pandas()[f"{by}_2"].tolist() == ["a", "b"]
    assert (told["share"], told["people"]) == ([0.25, 0.75], 18_710)
    assert [line.split()[0] for line in str(made).splitlines()[2:]] == ["a", "b"]


def test_a_column_by_itself_is_told_twice() -> None:
    made = Tabulation("x", ("a", "a"), (("u", "v"),), np.ones(1), np.zeros(1), TERMS)
    assert (made.to_dict()["a"], made.to_dict()["a_2"]) == (["u"], ["v"])


@pytest.mark.parametrize("columns", [1, 2])
def test_labels_are_drawn_as_they_are_and_not_as_formulas(columns: int) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    cell = (r"$\frac$",) * columns
    made = Tabulation(cell[0], cell, (cell,), np.ones(1), np.zeros(1), TERMS)
    axes = made.plot()
    axes.figure.canvas.draw()
    assert axes.get_yticklabels()[0].get_text() == cell[0]
    plt.close("all")


def test_a_table_is_printed_with_its_labels_and_a_word_about_negative_counts() -> None:
    lines = str(tabulation()).splitlines()
    assert lines[0].startswith("histogram of ward: 18,710 people; curator model, epsilon 0.5 each")
    assert lines[2].startswith("ward 0") and "± 37" in lines[2]
    assert "below 0" in lines[-1]


def test_a_long_table_is_cut_and_says_so() -> None:
    assert f"and {60 - MOST_LINES} more" in str(tabulation(60))


def test_counts_are_found_by_label() -> None:
    assert tabulation()["ward 2"] == pytest.approx(9355)
    with pytest.raises(InvalidParameter, match="no cell"):
        tabulation()["ward 9"]


def test_consistent_shares_are_positive_and_add_up() -> None:
    shares = tabulation().consistent()
    assert shares.min() >= 0 and shares.sum() == pytest.approx(1)


@pytest.mark.parametrize("result", [statistic(), tabulation()])
def test_every_result_has_a_picture(result: Statistic | Tabulation) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    axes = result.plot()
    assert "18,710 people" in axes.get_title(loc="left")
    plt.close("all")


def test_a_crosstab_is_a_map_and_too_many_bars_are_refused() -> None:
    import matplotlib.pyplot as plt

    labels = tuple((row, column) for row in ("a", "b") for column in ("x", "y", "z"))
    crossed = Tabulation("crosstab", ("r", "c"), labels, np.full(6, 1 / 6), np.full(6, 0.01), TERMS)
    axes = crossed.plot()
    assert [label.get_text() for label in axes.get_xticklabels()] == ["x", "y", "z"]
    plt.close("all")
    with pytest.raises(InvalidParameter, match=r"top\(60\)"):
        tabulation(100).plot()


def test_the_interval_of_a_sum_has_the_exact_law_of_its_noise() -> None:
    noise = GridNoise(SummedNoise(Fraction(1), Fraction(1)), 1 / 100)
    answer = Answer("smoker", 0.5, 100, 100, 1e-4, 2e-4, noise)
    assert answer.half_width(0.95) == pytest.approx(0.03)
    assert Answer("smoker", 0.5, 100, 100, 1e-4, 2e-4).half_width(0.95) == pytest.approx(
        0.01 * normal_width(0.95)
    )
    several = VectorAnswer("ward", np.zeros(3), 100, 100, np.ones(3), np.ones(3), noise)
    assert several.half_widths() == pytest.approx(np.full(3, 0.03))
