"""From records to an oracle in one call."""

import pytest

from localdp.algorithms.quick_start import oracle_of_records
from localdp.errors import InvalidParameter
from localdp.oracles.models import MODELS
from tests.support.people import population


@pytest.mark.parametrize("model", MODELS)
def test_every_trust_model_answers(model: str) -> None:
    oracle = oracle_of_records(population(2000), 1.0, model).in_rounds(2)  # type: ignore[arg-type]
    assert abs(oracle.answer(["smoker"])[0].value - 0.3) < 0.3
    assert oracle.answer_vectors(["region"])[0].values.sum() == pytest.approx(1, abs=0.3)


def test_an_unknown_trust_model_and_a_missing_epsilon_are_refused() -> None:
    with pytest.raises(InvalidParameter):
        oracle_of_records(population(10), 1.0, "hope")  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="epsilon"):
        oracle_of_records(population(10), None, "local")
