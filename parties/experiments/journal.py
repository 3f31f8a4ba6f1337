"""Finished blocks, durably: one line of JSON each, written whole and synced before the next block counts as done.

The first line says which experiment it is, which data it is about and with which public coins people are made.  A line
has a checksum.  A last line that was cut off by a crash is dropped, and its block is run again; a line that is there with
its end and is damaged is refused.  One process writes at a time.

Claim.  Whatever was appended is read again after a kill -9, and nothing is read twice.
Checked in tests/unit/parties/experiments/test_experiment_journal.py and by killing runs in
tests/integration/test_run_command.py.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import zlib
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from localdp.errors import InvalidParameter, StorageFailed
from parties.durable import Data, sync_directory
from parties.experiments.cells import BlockResult
from parties.experiments.definition import Experiment

FILE = "journal.jsonl"
VERSION = 1
_BEGUN = re.compile(rb"[0-9a-f]{0,8}( .*)?")  # a first line that was cut off, or nothing at all


@dataclass(frozen=True, slots=True)
class Header:
    """Which run a journal belongs to."""

    experiment: str  # digest of its file, and of what the command line changed
    data: str | None  # digest of the table's file
    people_root: str  # hexadecimal; public coins
    started: str
    version: int = VERSION


def header_of(experiment: Experiment) -> Header:
    """The header of a run that begins now."""
    seeds = ",".join(map(str, experiment.sweep.insecure_seeds))
    named = hashlib.sha256(f"{experiment.digest} {seeds}".encode()).hexdigest()
    path = experiment.data.path
    data = None if path is None else hashlib.sha256(path.read_bytes()).hexdigest()
    return Header(named, data, os.urandom(32).hex(), now())


def now() -> str:
    """The time, as headers and results have it."""
    return datetime.now(UTC).isoformat(timespec="seconds")


class SweepJournal:
    """The blocks of one run that are finished."""

    def __init__(self, directory: Path, header: Header, resume: bool, name: str = FILE) -> None:
        """Begin a journal, or go on with one of the same experiment and data."""
        self.path = directory / name
        if not resume and self.path.exists():
            raise InvalidParameter(
                f"{directory} has results of an earlier run: go on with --resume, or give another --out"
            )
        directory.mkdir(parents=True, exist_ok=True)
        self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            self._lock()
            self.header, self.blocks = self._read(header)
        except BaseException:
            os.close(self._file)
            raise
        sync_directory(directory)

    def append(self, name: str, result: BlockResult) -> None:
        """Keep a block; when this returns, it is on disk."""
        self._write({"block": name, **asdict(result)})
        self.blocks[name] = result

    def close(self) -> None:
        """Let go of the file."""
        os.close(self._file)

    def _lock(self) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise InvalidParameter(f"another run is writing to {self.path.parent}") from error

    def _read(self, wanted: Header) -> tuple[Header, dict[str, BlockResult]]:
        lines, whole = _whole_lines(self.path)
        os.ftruncate(self._file, whole)  # what a crash cut off
        if not lines:
            self._write(asdict(wanted))
            return wanted, {}
        try:
            found = Header(**lines[0])
            blocks = {line.pop("block"): BlockResult(**line) for line in lines[1:]}
        except (TypeError, KeyError) as error:
            raise StorageFailed(f"{self.path} is not a journal of this version") from error
        if (found.experiment, found.data, found.version) != (wanted.experiment, wanted.data, VERSION):
            raise InvalidParameter(
                f"{self.path.parent} has results of another experiment or of other data: give another --out"
            )
        return found, blocks

    def _write(self, body: Data) -> None:
        text = json.dumps(body, allow_nan=False, separators=(",", ":"))
        line = f"{zlib.crc32(text.encode()):08x} {text}\n".encode()
        try:
            _write_all(self._file, line)
            os.fsync(self._file)
        except OSError as error:
            raise StorageFailed(
                f"{self.path} cannot be written: {os.strerror(error.errno or 0)}"
            ) from error


def _write_all(file: int, line: bytes) -> None:
    while line:
        line = line[os.write(file, line) :]


def _whole_lines(path: Path) -> tuple[list[Data], int]:
    """The lines that were written whole, and how many bytes they take."""
    lines: list[Data] = []
    whole = 0
    data = path.read_bytes()
    while (end := data.find(b"\n", whole)) >= 0:
        body = _body(data[whole:end])
        if body is None:
            raise StorageFailed(f"{path}: line {len(lines) + 1} is damaged; give another --out")
        lines.append(body)
        whole = end + 1
    if not lines and not _BEGUN.fullmatch(data):
        raise StorageFailed(f"{path} is something else than a journal; give another --out")
    return lines, whole


def _body(line: bytes) -> Data | None:
    checksum, _, text = line.partition(b" ")
    try:
        if int(checksum, 16) != zlib.crc32(text):
            return None
        body: Data = json.loads(text)
        return body
    except ValueError:
        return None
