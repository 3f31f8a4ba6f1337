"""The rows of the trust models: what every door reads of them."""

import inspect
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from typing import get_args

import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.errors import InvalidParameter
from localdp.experiments.population import made_up_people
from localdp.oracles import bounds
from localdp.oracles.flooded import FloodedOracle
from localdp.oracles.local import LocalOracle
from localdp.oracles.models import (
    DEFAULT_MODEL,
    MODELS,
    ModelName,
    OneCount,
    Parties,
    model_named,
    models_with,
    oracle_of,
)
from localdp.oracles.promise import DEFAULT_DELTA
from localdp.oracles.shared import MINIMUM_BATCH, SharedOracle
from localdp.oracles.shuffled import ShuffledOracle
from localdp.randomness.keyring import Keyring

ONE = Epsilon.requested(1)
COINS = Keyring.insecurely_seeded(3).source


@pytest.mark.parametrize(
    ("model", "made"),
    [
        ("local", LocalOracle),
        ("shuffled", ShuffledOracle),
        ("flooded", FloodedOracle),
        ("shared", SharedOracle),
    ],
)
def test_defaults_of_a_row_are_those_of_its_oracle(model: str, made: Callable[..., object]) -> None:
    takes = inspect.signature(made).parameters
    names = {"noise_plan": "plan"}
    for option, default in MODELS[model].options.items():
        if default is not None:
            assert str(takes[names.get(option, option)].default) == str(default)


def test_defaults_are_what_they_are_called_elsewhere() -> None:
    assert MODELS["shuffled"].options["delta"] == DEFAULT_DELTA
    assert MODELS["shared"].options["minimum_batch"] == MINIMUM_BATCH
    assert tuple(MODELS) == get_args(ModelName)
    assert MODELS[DEFAULT_MODEL].honest == "nobody but one's own device"


def test_predicted_errors_are_those_of_the_bounds() -> None:
    count = OneCount(1000, ONE, 3)
    single = float(bounds.shuffled_local_epsilon(ONE, Fraction(1, 10**6), 1000))
    assert {name: row.predicted_error(count) for name, row in MODELS.items()} == {
        "exact": 0.0,
        "curator": bounds.curator_error(1),
        "local": bounds.randomized_response_error(1, 1000),
        "shuffled": bounds.randomized_response_error(single, 1000),
        "flooded": pytest.approx(bounds.curator_error(0.95)),
        "shared": bounds.each_server_error(1, 3),
    }


def test_options_change_what_is_predicted() -> None:
    divided = OneCount(1000, ONE, 3, {"noise_plan": "divided"})
    assert MODELS["shared"].predicted_error(divided) == pytest.approx(bounds.curator_error(1))
    wider = OneCount(1000, ONE, options={"delta": "1e-3"})
    assert MODELS["shuffled"].predicted_error(wider) < MODELS["shuffled"].predicted_error(
        OneCount(1000, ONE)
    )


@pytest.mark.parametrize(
    ("model", "parties", "epsilon", "options", "why"),
    [
        (
            "secret",
            Parties(),
            ONE,
            {},
            f"one of {', '.join(MODELS)}; got secret",
        ),
        ("local", Parties(), ONE, {"delta": 1}, "the local model has no option delta; it has divide"),
        ("exact", Parties(), None, {}, "nobody can be the exact oracle"),
        ("local", Parties(), None, {}, 'oracle("local", epsilon=1.0)'),
        ("shared", Parties(), ONE, {}, "no share servers"),
        ("shuffled", Parties(), ONE, {}, "needs a shuffler"),
        ("shuffled", Parties(), ONE, {"delta": "much"}, "a delta is a number"),
        ("flooded", Parties(), ONE, {}, "needs a shuffler"),
        ("flooded", Parties(), ONE, {"honest": "most"}, "honest is a number"),
    ],
)
def test_what_cannot_be_asked_says_why(
    model: str, parties: Parties, epsilon: Epsilon | None, options: dict[str, object], why: str
) -> None:
    with pytest.raises(InvalidParameter) as refused:
        oracle_of(model, parties, epsilon, COINS, options)
    assert why in str(refused.value)


def test_a_curator_has_its_own_coins_and_book() -> None:
    people = made_up_people(50, COINS("people"))
    oracle = oracle_of("curator", Parties(records=people), ONE, COINS)
    assert (oracle.people, oracle.claim.model) == (50, "curator")


def test_an_option_names_its_models() -> None:
    assert models_with("tier") == ("shared",)
    assert model_named("shared").needs_share_servers


def test_rows_are_read_without_numpy() -> None:
    told = "import sys, localdp.oracles.models; raise SystemExit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", told], check=False).returncode == 0
