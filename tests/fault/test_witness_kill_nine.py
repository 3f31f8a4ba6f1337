"""A witness that is killed with SIGKILL at every step of a countersignature, and started again on what is on disk.

A failure is: a head that was acknowledged and is not on record afterwards, or a record that cannot be opened.  It is none
that a head is on record that was not acknowledged: its agent sends it again.
"""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from localdp.errors import RolledBack, Unreachable
from parties.coordinator import Peer
from parties.repeating import Patience
from parties.witness.client import RemoteWitness
from parties.witness.heads import Head, sign_step
from parties.witness.record import WitnessRecord
from tests.fault.witness_nursery import SIGNER
from tests.support.processes import COMMAND, module, read_line, stage

HEADS = (1, 2, 5)
EVERY_STEP = range(30)  # three countersignatures take 28
SOME_STEPS = (1, 4, 6, 7, 8, 9, 10, 17, 25)  # around the writes and the commits


def head(entries: int, fork: int = 0) -> Head:
    return Head("north", entries, bytes([entries + fork]) * 32)


def life(nursery: subprocess.Popen[bytes], state: Path, steps: int, variant: str) -> dict[str, Any]:
    """One life of a witness: what it acknowledged, and whether it was killed."""
    job = {"state": str(state), "variant": variant, "steps": steps, "heads": HEADS}
    assert nursery.stdin is not None
    nursery.stdin.write((json.dumps(job) + "\n").encode())
    told: dict[str, Any] = json.loads(read_line(nursery))
    return told


def on_record(state: Path) -> int:
    """How far the ledger is known to have come."""
    with closing(WitnessRecord(state)) as record:
        latest = record.latest("north")
        return 0 if latest is None else latest.signed.head.entries


def lost(directory: Path, lives: Sequence[int], variant: str = "") -> tuple[int, int]:
    """Of lives that end at each step: how many were killed, and how many lost what they had acknowledged."""
    killed = forgot = 0
    with stage(directory) as place, module(place, "tests.fault.witness_nursery") as nursery:
        for steps in lives:
            state = directory / f"{variant}-{steps}"
            WitnessRecord(state, new=True).close()
            told = life(nursery, state, steps, variant)
            known = on_record(state)
            killed += told["killed"]
            forgot += known < max(told["acknowledged"], default=0)
            _goes_on(state, known)
    return killed, forgot


def _goes_on(state: Path, known: int) -> None:
    """It can be opened, and knows what it knew."""
    with closing(WitnessRecord(state)) as record:
        last = head(known) if known else None
        if known:
            with pytest.raises(RolledBack):
                record.countersign(sign_step(head(known, fork=100), last, SIGNER))
        assert record.countersign(sign_step(head(9), last, SIGNER)).signed.head == head(9)


def test_what_a_witness_acknowledged_is_on_record_whenever_it_is_killed(tmp_path: Path) -> None:
    assert lost(tmp_path, SOME_STEPS) == (len(SOME_STEPS), 0)


def test_a_witness_that_answers_before_it_writes_is_caught(tmp_path: Path) -> None:
    killed, forgot = lost(tmp_path, SOME_STEPS[:3], "owing")
    assert killed == forgot == 3


@pytest.mark.nightly
def test_also_at_every_step(tmp_path: Path) -> None:
    assert lost(tmp_path, EVERY_STEP) == (28, 0)


@pytest.mark.nightly
@pytest.mark.parametrize("milliseconds", [50, 200, 500])
def test_also_as_a_process_among_many_countersignatures(tmp_path: Path, milliseconds: int) -> None:
    command = [str(COMMAND), "witness", "run", "--state", "w", "--json"]
    with stage(tmp_path) as place:
        acknowledged = 0
        for options in (["--new"], []):
            with place.popen([*command, *options], stdout=subprocess.PIPE, bufsize=0) as process:
                told = json.loads(read_line(process))["data"]
                peer = Peer(told["name"], told["address"])
                with closing(RemoteWitness("north", SIGNER, peer, patience=Patience(attempts=1))) as north:
                    known = north.latest()
                    assert (0 if known is None else known.entries) >= acknowledged
                    killing = threading.Timer(milliseconds / 1000, process.kill)
                    killing.start()
                    acknowledged = until_it_dies(north, known)
                    killing.join()


def until_it_dies(north: RemoteWitness, last: Head | None) -> int:
    """The last head that was acknowledged; the next one may or may not be on record."""
    entries = 1 if last is None else last.entries + 1
    for number in range(entries, entries + 100_000):
        now = Head("north", number, number.to_bytes(32, "big"))
        try:
            north.countersign(now, last)
        except Unreachable:
            return number - 1
        last = now
    raise AssertionError("it was not killed")
