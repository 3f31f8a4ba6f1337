"""Two shufflers in a row as processes: the second is asked, the first asks the agents, and an owner names both."""

from __future__ import annotations

import json
import signal
import stat
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from localdp.cohorts import Cohort
from localdp.domains.dealing import dealt
from localdp.errors import PolicyRefused
from localdp.oracles.exact import ExactOracle
from localdp.oracles.flooded import FloodedOracle
from localdp.oracles.shuffler import Promise
from localdp.party.party import Request
from localdp.randomizers.one_bit import OneBitRandomizer
from localdp.sharing.flooded_batch import SEALED_BYTES, FloodedBatch, opened_once
from localdp.sharing.hpke import public_of
from parties import flood_opening
from parties.coordinator import Peer
from parties.shuffler.client import RemoteShuffler
from parties.simulation.launcher import Simulation
from tests.support.flooding import KEY, plan_of, question_of
from tests.support.people import KEYRING, ONE, PLENTY, population
from tests.support.processes import COMMAND, Stage, localdp, read_line, stage

PEOPLE = population(300)
PROMISE = Promise(ONE * 2, Fraction(1, 1000), requests=100, minimum_cohort=50)
WAIT_SECONDS = 60.0
EVERYBODY = [Cohort(0, 300)]


def single_report() -> Request:
    return Request.fresh("smoker", OneBitRandomizer(ONE, 1), KEYRING.source("single"))


@pytest.fixture(scope="module")
def running() -> Iterator[Simulation]:
    with Simulation(dealt(PEOPLE, 3), budget=PLENTY, keyring=KEYRING, shuffler=PROMISE) as simulation:
        yield simulation


@contextmanager
def second(made: Stage, first: Peer, key: Path, *options: str) -> Iterator[tuple[Peer, str]]:
    """`localdp shuffler second` as a process, and its public key."""
    named = f"--first={first.name}={first.address}"
    command = [str(COMMAND), "shuffler", "second", named, "--key", str(key), "--json", *options]
    process = made.popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, bufsize=0)
    assert process.stdout is not None
    try:
        told = json.loads(read_line(process))["data"]
        yield Peer("second", told["address"]), told["public_key"]
        process.send_signal(signal.SIGTERM)
        assert process.wait(WAIT_SECONDS) == 0
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def test_it_answers_behind_the_first_and_is_the_same_after_a_restart(
    tmp_path: Path, running: Simulation
) -> None:
    assert running.shuffler is not None
    key = tmp_path / "second.key"
    truth = ExactOracle(PEOPLE).answer(["smoker"])[0].value
    publics, rounds = set[str](), list[bytes]()
    with stage(tmp_path) as made:
        for options in (["--new"], []):
            with (
                second(made, running.shuffler, key, *options) as (peer, public),
                closing(RemoteShuffler(peer, WAIT_SECONDS)) as remote,
            ):
                publics.add(public)
                assert remote.second_key.hex() == public and remote.promise == PROMISE
                source, delta = KEYRING.source("second", *options), Fraction(1, 1000)
                oracle = FloodedOracle(remote, ONE, source, delta=delta, extra=Fraction(1, 100))
                (answer,) = oracle.answer(["smoker"])
                assert abs(answer.value - truth) <= 6 * answer.standard_error
                question = replace(question_of(plan_of(300)), second_key=remote.second_key)
                rounds.append(remote.sealed(question, EVERYBODY).messages.tobytes())
                with pytest.raises(PolicyRefused, match="flooded rounds"):
                    list(remote.reports(single_report(), EVERYBODY[0]))
    assert len(publics) == 1 and rounds[0] == rounds[1]
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert len(rounds[0]) == SEALED_BYTES * sum(plan_of(300).size(100) for _ in range(3))


def test_its_key_is_neither_made_by_itself_nor_read_where_others_can(
    tmp_path: Path, running: Simulation
) -> None:
    first = "--first=first=127.0.0.1:1"
    gone = localdp(tmp_path, "shuffler", "second", first, "--key", "none.key")
    assert gone.returncode and "--new" in gone.stderr
    for content, mode in (("00" * 32, 0o644), ("secret", 0o600)):
        path = tmp_path / f"{mode}.key"
        path.write_text(content)
        path.chmod(mode)
        told = localdp(tmp_path, "shuffler", "second", first, "--key", str(path))
        assert told.returncode and "key" in told.stderr and content not in told.stderr


@pytest.mark.parametrize("few", [30, 29])
def test_envelopes_are_opened_alike_here_and_in_processes(
    few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(flood_opening, "FEW", few)
    secret, digest = bytes(range(1, 33)), bytes(32)
    batch = FloodedBatch.of(np.arange(30, dtype=np.uint32), b"s" * 16, digest, KEY, public_of(secret))
    twice = batch.messages(0, 30)
    inner = FloodedBatch.of(np.arange(30, dtype=np.uint32), b"s" * 16, digest, KEY).messages(0, 30)
    assert (flood_opening.without_envelopes(secret, digest, twice) == inner).all()
    assert (opened_once(secret, digest, twice) == inner).all()
