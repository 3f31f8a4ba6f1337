"""The comparison of section 9.3: the same numbers in process, on a pool of workers, and over gRPC."""

from __future__ import annotations

import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.experiments.compare import Block, Settings, run_comparison
from localdp.experiments.keyring import Keyring
from localdp.sharing.noise_plans import NoisePlan
from parties.simulation.federation import over_grpc
from parties.simulation.pool import run_in_pool

KEYRING = Keyring.insecurely_seeded(7)


@pytest.mark.parametrize("plan", NoisePlan)
def test_the_comparison_has_the_same_numbers_however_it_is_run(plan: NoisePlan) -> None:
    # 53 trials are a full block and a part of one.
    settings = Settings(Epsilon.requested("0.7"), (60,), trials=53, plan=plan, parties=3, servers=2)
    here = run_comparison(settings, KEYRING)
    assert run_comparison(settings, KEYRING, over_grpc) == here
    seen: list[Block] = []
    assert run_in_pool(settings, KEYRING, 2, seen.append) == here
    assert sum(block.trials for block in seen) == 4 * 53
    assert {row.model for row in here} == {"exact", "curator", "local", "shared"}
    assert all(row.mean_abs_error > 0 for row in here if row.model != "exact")


def test_another_keyring_gives_other_numbers() -> None:
    settings = Settings(Epsilon.requested(1), (50,), trials=20)
    assert run_comparison(settings, KEYRING) != run_comparison(settings, Keyring.insecurely_seeded(8))
