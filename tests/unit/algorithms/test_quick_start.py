"""From arrays to an oracle in one call."""

import numpy as np
import pytest

from localdp.algorithms.quick_start import oracle_of_records, records_of_arrays
from localdp.domains import BitDomain, RealDomain
from localdp.errors import InvalidParameter
from tests.support.people import population


def test_bits_stay_bits_and_numbers_are_clipped_to_public_bounds() -> None:
    features = np.array([[0.0, 3.0], [1.0, -0.5]])
    records = records_of_arrays(features, np.array([True, False]), (-1.0, 1.0))
    assert records.schema.names == ("x0", "x1", "target")
    assert records.schema["x0"] == RealDomain(-1.0, 1.0)
    assert records.schema["target"] == BitDomain()
    assert records.column("x1").tolist() == [1.0, -0.5]


@pytest.mark.parametrize("values", [[0, 1, 1], [0, 1, 2]])
def test_the_kind_of_a_column_does_not_depend_on_its_values(values: list[int]) -> None:
    records = records_of_arrays(np.array(values)[:, None], np.array(values), (-1.0, 1.0))
    assert all(records.schema[name] == RealDomain(-1.0, 1.0) for name in records.schema.names)


@pytest.mark.parametrize("labels", [[0, 1, 1], [-1, 1, 1], [False, True, True], [-1.0, 1.0, 1.0]])
def test_the_labels_of_a_classifier_are_bits(labels: list[float]) -> None:
    records = records_of_arrays(np.ones((3, 1)), np.array(labels), (-1.0, 1.0), classes=True)
    assert records.schema["target"] == BitDomain()
    assert records.column("target").tolist() == [False, True, True]


def test_a_data_frame_keeps_its_names() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"age": [0.1, 0.2], "smoker": [0.0, 1.0]})
    assert records_of_arrays(frame, None, (0.0, 1.0)).schema.names == ("age", "smoker")


@pytest.mark.parametrize("trust", ["exact", "curator", "local", "shuffled", "shared"])
def test_every_trust_model_answers(trust: str) -> None:
    oracle = oracle_of_records(population(2000), 1.0, trust).in_rounds(2)  # type: ignore[arg-type]
    assert abs(oracle.answer(["smoker"])[0].value - 0.3) < 0.3
    assert oracle.answer_vectors(["region"])[0].values.sum() == pytest.approx(1, abs=0.3)


@pytest.mark.parametrize(
    "features", [np.ones(3), np.array([["a"]]), np.array([[np.nan]]), np.ones((2, 2, 2))]
)
def test_what_is_no_table_of_numbers_is_refused(features: np.ndarray) -> None:
    with pytest.raises(InvalidParameter):
        records_of_arrays(features, None, (-1.0, 1.0))


def test_an_unknown_trust_model_and_a_missing_epsilon_are_refused() -> None:
    with pytest.raises(InvalidParameter):
        oracle_of_records(population(10), 1.0, "hope")  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter):
        oracle_of_records(population(10), None, "local")
