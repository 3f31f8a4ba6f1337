"""A share is told as people, a mean as a mean, and on the scale of the column that it is about; ± is at 95 %."""

from localdp.accounting.epsilon import Epsilon
from localdp.domains import BitDomain, RealDomain, Schema
from localdp.oracles.curator import central_noise, sum_answer
from localdp.oracles.definition import Answer
from parties.command.answers import answer_rows

SCHEMA = Schema({"smoker": BitDomain(), "systolic": RealDomain(60, 250), "age": RealDomain(0, 120)})


def told(query: str, value: float, variance: float) -> dict[str, str]:
    return dict(answer_rows(Answer(query, value, 3000, 3000, variance, variance), SCHEMA))


def test_a_condition_is_told_as_a_share_and_a_number_of_people() -> None:
    assert told("smoker", 0.25, 1e-4) == {
        "share of people": "25.0 % ± 2.0 % (95 %)",
        "number of people": "750 ± 59 (95 %) of 3,000",
    }


def test_where_the_law_of_the_noise_is_known_the_interval_is_its_own() -> None:
    answer = sum_answer("smoker", 750, 1, 3000, central_noise(Epsilon.requested(1), 1))
    assert dict(answer_rows(answer, SCHEMA))["number of people"] == "750 ± 3 (95 %) of 3,000"


def test_what_has_no_noise_has_no_error() -> None:
    assert told("smoker", 0.25, 0.0)["number of people"] == "750 of 3,000"


def test_a_clipped_column_is_told_as_a_mean_on_its_own_scale() -> None:
    assert told("clip((systolic - 60) / 190)", 0.5, 1e-4) == {
        "mean": "0.500 ± 0.020 (95 %)",
        "mean of systolic": "155.0 ± 3.7 (95 %), between 60 and 250",
        "people": "3,000",
    }


def test_a_scale_that_runs_backwards_has_a_positive_error() -> None:
    assert told("clip(1 - age / 100)", 0.75, 1e-4)["mean of age"] == "25.0 ± 2.0 (95 %), between 0 and 100"


def test_a_mixture_of_columns_has_no_scale_of_its_own() -> None:
    mixed = told("clip(age / 200 + systolic / 500)", 0.5, 1e-4)
    assert mixed == {"mean": "0.500 ± 0.020 (95 %)", "people": "3,000"}
