"""The page and the protos of the contract: nothing is left out, and nothing that was released is broken."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from parties.contract.run import CLAUSES
from parties.status import CODES, reason
from parties.wire.v1 import (
    cohort_pb2,
    collection_pb2,
    oracle_pb2,
    randomizer_pb2,
    schema_pb2,
    share_server_pb2,
)
from tests.support.processes import ROOT

PAGE = (ROOT / "docs/contract.md").read_text()
IMAGE = ROOT / "protos/released/v0.1.binpb"
FILES = [
    module.DESCRIPTOR
    for module in (
        cohort_pb2,
        collection_pb2,
        oracle_pb2,
        randomizer_pb2,
        schema_pb2,
        share_server_pb2,
    )
]


def named() -> list[str]:
    """Every service, call, message, field, enum and value of the protos."""
    names: list[str] = []
    for file in FILES:
        for service in file.services_by_name.values():
            names += [service.name, *(method.name for method in service.methods)]
        for message in file.message_types_by_name.values():
            names += [message.name, *(field.name for field in message.fields)]
        for enum in file.enum_types_by_name.values():
            names += [enum.name, *(value.name for value in enum.values)]
    return names


def test_every_call_message_and_field_is_on_the_page() -> None:
    assert len(named()) > 150
    assert not [name for name in named() if f"`{name}`" not in PAGE]


def test_every_clause_is_on_the_page_in_its_own_words() -> None:
    listed = re.findall(r"^\| (C\d\d) \| (.*?) \|", PAGE, re.MULTILINE)
    assert listed == sorted((clause.name, clause.sentence) for clause in CLAUSES)


def test_every_error_is_on_the_page_with_its_status() -> None:
    listed = dict(re.findall(r"^\| `([A-Z_]+)` \| ([A-Z_]+) \|", PAGE, re.MULTILINE))
    assert listed == {reason(kind): code.name for kind, code in CODES.items()}


def breaking(directory: Path) -> subprocess.CompletedProcess[str]:
    buf = Path(sys.executable).with_name("buf")
    arguments = [str(buf), "breaking", "--against", str(IMAGE)]
    return subprocess.run(arguments, cwd=directory, capture_output=True, text=True, check=False, timeout=60)


def test_the_protos_break_nothing_that_was_released() -> None:
    done = breaking(ROOT)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("uint64 budget_nanonats = 4;", "uint64 budget_nanonats = 14;"),
        ("uint64 budget_nanonats = 4;", "uint32 budget_nanonats = 4;"),
        ("  bytes request_id = 1;", ""),
        ("rpc Contribute(", "rpc Donate("),
    ],
    ids=["another number", "another type", "removed", "renamed"],
)
def test_a_change_that_breaks_callers_is_seen(tmp_path: Path, before: str, after: str) -> None:
    shutil.copy(ROOT / "buf.yaml", tmp_path)
    shutil.copytree(ROOT / "protos/parties", tmp_path / "protos/parties")
    oracle = tmp_path / "protos/parties/wire/v1/oracle.proto"
    text = oracle.read_text()
    assert text.count(before) == 1
    oracle.write_text(text.replace(before, after))
    done = breaking(tmp_path)
    assert done.returncode != 0
    assert "oracle.proto" in done.stdout + done.stderr


def test_make_check_compares_with_what_was_released() -> None:
    assert f"buf breaking --against {IMAGE.relative_to(ROOT)}" in (ROOT / "Makefile").read_text()
