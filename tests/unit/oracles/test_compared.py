"""Rows that are compared: every trust model, and variants of them with other options."""

import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.errors import InvalidParameter
from localdp.oracles import bounds
from localdp.oracles.compared import COMPARED, compared_named
from localdp.oracles.models import MODELS, OneCount

ONE_COUNT = OneCount(1000, Epsilon.requested(1))


def test_every_trust_model_is_compared_as_it_is() -> None:
    assert {name: COMPARED[name] for name in MODELS} == dict(MODELS)
    assert [name for name in COMPARED if name not in MODELS] == ["joint"]


def test_names_colours_marks_and_titles_are_told_apart() -> None:
    for shown in ("name", "colour", "mark", "style", "title"):
        assert len({getattr(row, shown) for row in COMPARED.values()}) == len(COMPARED)
    assert all(name == row.name for name, row in COMPARED.items())


def test_joint_noise_is_predicted_to_err_as_a_curator_does_and_plain_shares_by_more() -> None:
    joint, shared = COMPARED["joint"], COMPARED["shared"]
    assert (
        joint.predicted_error(ONE_COUNT)
        == pytest.approx(bounds.curator_error(1))
        == pytest.approx(0.851, abs=1e-3)
    )
    assert shared.predicted_error(ONE_COUNT) == pytest.approx(1.367, abs=1e-3)
    noise = joint.noise(ONE_COUNT)
    assert noise is not None
    assert noise.variance() == pytest.approx(1.841, abs=1e-3)


def test_a_variant_is_its_model_with_other_defaults() -> None:
    joint = COMPARED["joint"]
    assert joint.options == {**MODELS["shared"].options, "noise_plan": "joint"}
    assert (joint.make, joint.share_servers) == (MODELS["shared"].make, 3)
    assert MODELS["shared"].share_servers is None


def test_another_name_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(
        InvalidParameter, match="exact, curator, local, shuffled, flooded, shared, joint; got secret"
    ):
        compared_named("secret")
