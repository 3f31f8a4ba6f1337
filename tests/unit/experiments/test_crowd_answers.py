"""What a crowd is told under each model: right about a crowd that is known, and by the law of that model.

The chance of a false alarm is that of five standard deviations, 6e-7, for each row.
"""

import numpy as np
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.errors import InvalidParameter
from localdp.experiments.crowd import Crowd
from localdp.experiments.crowd_answers import (
    estimated_kind,
    exact_answer,
    released_answer,
    report_epsilon,
)
from localdp.oracles.models import MODELS, TrustModel
from localdp.randomizers.input_kinds import InputKind
from localdp.randomizers.registry import entry_of
from localdp.randomness.hazmat import SeededSource

ONE = Epsilon.requested(1)
ADDED_UP = [row for row in MODELS.values() if row.needs_share_servers or not row.needs_agents]
TRIALS = 400


def kind_of(name: str, inputs: int) -> InputKind:
    return estimated_kind(entry_of(name).made(ONE, inputs))


@pytest.mark.parametrize("row", ADDED_UP, ids=lambda row: row.name)
@pytest.mark.parametrize(("name", "inputs"), [("one-bit", 2), ("one-bit", 5), ("k-ary", 4)])
def test_released_answers_are_off_by_the_noise_of_their_model(
    row: TrustModel, name: str, inputs: int
) -> None:
    kind = kind_of(name, inputs)
    crowd = Crowd.by_law(1000, inputs, "uniform")
    exact, source = exact_answer(crowd, kind), SeededSource(1)
    off = []
    for _ in range(TRIALS):
        answer = released_answer(row, crowd, kind, ONE, source, 3, {})
        off += (answer.values - exact).tolist()
    if not row.spends:
        assert not any(off)
        return
    deviation = float(answer.standard_errors[0])
    assert deviation > 0
    # Of Laplace noise the fourth moment is 6 deviations^4, so the mean square varies by sqrt(5 / trials).
    assert abs(np.mean(np.square(off)) / deviation**2 - 1) < 5 * np.sqrt(5 / TRIALS)
    assert abs(np.mean(off)) < 5 * deviation / np.sqrt(TRIALS)


def test_an_exact_answer_is_the_mean_or_the_frequencies() -> None:
    crowd = Crowd.of_table(np.array([0, 4, 4, 2]), 5)
    assert exact_answer(crowd, kind_of("one-bit", 5)).tolist() == [10 / 16]
    assert exact_answer(crowd, kind_of("k-ary", 5)).tolist() == [0.25, 0, 0.25, 0, 0.5]


def test_only_where_reports_are_mixed_they_may_cost_more() -> None:
    entry = entry_of("one-bit")
    for row in MODELS.values():
        few, many, most = (report_epsilon(row, ONE, n, entry, {}) for n in (1000, 10**6, 10**10))
        if row.needs_mixer:
            assert ONE < few < many <= most
        else:
            assert few == many == most == ONE
        assert report_epsilon(row, ONE, 1, entry, {}) == ONE  # nobody hides anybody


@pytest.mark.parametrize("name", ["priv-unit", "hadamard-marginals", "count-mean-sketch"])
def test_randomizers_of_vectors_and_open_domains_are_refused(name: str) -> None:
    with pytest.raises(InvalidParameter, match="another randomizer"):
        kind_of(name, 4)
