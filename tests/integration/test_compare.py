"""The comparison of section 9.3: the same numbers in process, on a pool of workers, and over gRPC."""

from __future__ import annotations

import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.errors import InvalidParameter
from localdp.experiments.compare import Block, Settings, people_of, run_comparison
from localdp.experiments.keyring import Keyring
from localdp.sharing.noise_plans import PLANS, NoisePlan
from parties.simulation.federation import over_grpc
from parties.simulation.pool import run_in_pool

KEYRING = Keyring.insecurely_seeded(7)


@pytest.mark.parametrize("plan", PLANS)
def test_the_comparison_has_the_same_numbers_however_it_is_run(plan: NoisePlan) -> None:
    # 53 trials are a full block and a part of one.
    settings = Settings(Epsilon.requested("0.7"), (60,), trials=53, plan=plan, parties=3, servers=2)
    here = run_comparison(settings, KEYRING)
    assert run_comparison(settings, KEYRING, over_grpc) == here
    seen: list[Block] = []
    assert run_in_pool(settings, KEYRING, 2, seen.append) == here
    assert sum(block.trials for block in seen) == 5 * 53
    assert {row.model for row in here} == {"exact", "curator", "local", "shuffled", "shared"}
    assert all(row.mean_abs_error > 0 for row in here if row.model != "exact")


def test_a_run_without_the_shuffled_model_has_no_shuffler() -> None:
    settings = Settings(Epsilon.requested(1), (50,), trials=2, models=("local",), parties=2)
    assert settings.largest_request(50) == settings.epsilon
    with over_grpc(people_of(50, KEYRING), settings, KEYRING) as federation:
        assert federation.mixer is None


@pytest.mark.parametrize("people", [1, 10**8])
def test_a_shuffler_needs_a_number_of_people_that_can_be_accounted_for(people: int) -> None:
    with pytest.raises(InvalidParameter, match="shuffler"):
        Settings(Epsilon.requested(1), (people,), trials=2, parties=1)
    Settings(Epsilon.requested(1), (people,), trials=2, parties=1, models=("local", "shared"))


def test_the_shuffled_error_is_the_predicted_one_whatever_n_is() -> None:
    # 400 trials: the mean of |error| has a standard error of 3.8 %; five of them.
    settings = Settings(Epsilon.requested(1), (100, 10_000), trials=400, models=("shuffled",))
    for row in run_comparison(settings, KEYRING):
        assert row.predicted == pytest.approx(4.6, abs=0.1)
        assert row.mean_abs_error == pytest.approx(row.predicted, rel=5 * 0.038)
        assert row.lower_bound is None


def test_another_keyring_gives_other_numbers() -> None:
    settings = Settings(Epsilon.requested(1), (50,), trials=20)
    assert run_comparison(settings, KEYRING) != run_comparison(settings, Keyring.insecurely_seeded(8))
