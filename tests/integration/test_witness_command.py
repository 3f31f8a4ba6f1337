"""`localdp witness` as a process: it serves, tells what it knows, forgets when told, and does not begin anew by itself."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from localdp.errors import InvalidParameter, PolicyRefused, RolledBack
from parties.command.witness import _named_key, witness_forget, witness_show
from parties.witness.client import RemoteWitness
from parties.witness.heads import Head, public_key_of
from tests.support.agents import failed
from tests.support.processes import COMMAND, PATIENCE_SECONDS, Stage, read_line, stage

SIGNER = Ed25519PrivateKey.from_private_bytes(b"n" * 32)


@contextmanager
def witness(made: Stage, *options: str) -> Iterator[dict[str, Any]]:
    """`localdp witness run` until SIGTERM: what it says of itself."""
    command = [str(COMMAND), "witness", "run", "--state", "w", "--json", *options]
    process = made.popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, bufsize=0)
    assert process.stdout is not None
    try:
        yield json.loads(read_line(process))["data"]
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_SECONDS) == 0
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def of(told: dict[str, Any], party: str = "north") -> closing[RemoteWitness]:
    return closing(RemoteWitness.at(f"{told['address']}#{told['key']}", party, SIGNER, told["name"]))


def told_by(capsys: pytest.CaptureFixture[str]) -> Any:
    """What a command that ran in this process has printed."""
    return json.loads(capsys.readouterr().out)["data"]


def test_a_witness_serves_shows_and_forgets(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    party = f"north={public_key_of(SIGNER).hex()}"
    with stage(tmp_path) as made, witness(made, "--new", "--party", party) as told:
        with of(told) as north:
            north.countersign(Head("north", 4, b"x" * 32), None)
            with pytest.raises(RolledBack):
                north.countersign(Head("north", 3, b"x" * 32), None)
            witness_show(state=tmp_path / "w", json=True)
            shown = told_by(capsys)
            (known,) = shown["parties"]
            assert (shown["key"], known["party"], known["entries"]) == (told["key"], "north", 4)
            witness_forget(state=tmp_path / "w", party="north", json=True)
            assert told_by(capsys)["entries"] == 4
            assert north.latest() is None
            north.countersign(Head("north", 1, b"y" * 32), None)
        with of(told, "south") as south, pytest.raises(PolicyRefused):
            south.countersign(Head("south", 1, b"x" * 32), None)


def test_a_witness_does_not_begin_anew_by_itself(tmp_path: Path) -> None:
    assert "--new" in failed(tmp_path, "witness", "run", "--state", "w")["message"]
    assert not (tmp_path / "w").exists()


def test_options_that_make_no_sense_are_told() -> None:
    assert _named_key("a=b=" + "0a" * 32) == ("a=b", b"\n" * 32)
    for wrong in ("north", "north=", "north=12", "=" + "00" * 32, "north=" + "zz" * 32):
        with pytest.raises(InvalidParameter, match="NAME=KEY"):
            _named_key(wrong)
