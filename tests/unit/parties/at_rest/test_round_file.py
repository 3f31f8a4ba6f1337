"""A round as a file: what was asked is asked again, and nothing else."""

import json
from pathlib import Path
from typing import Any

import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.domains import BitDomain, Schema
from localdp.errors import InvalidParameter
from localdp.randomizers.memoised import memoised_symmetric_unary
from localdp.randomizers.registry import ENTRIES, Entry
from localdp.randomness.hazmat import SeededSource
from parties.at_rest.round_file import RoundFile

SCHEMA = Schema({"smoker": BitDomain()})


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_every_randomizer_comes_back(entry: Entry, tmp_path: Path) -> None:
    made = entry.made(Epsilon.requested(1), entry.small)
    asked = RoundFile.fresh("smoker", made, SeededSource(1))
    asked.write(tmp_path / "round.json")
    read = RoundFile.read(tmp_path / "round.json")
    assert read.request == asked.request and read.request.randomizer == made


def test_two_rounds_have_two_names_and_one_round_has_one() -> None:
    made = ENTRIES[1].made(Epsilon.requested(1), 2)
    source = SeededSource(1)
    first, other = (RoundFile.fresh("smoker", made, source) for _ in range(2))
    again = RoundFile(first.request)
    assert first.digest(SCHEMA) == again.digest(SCHEMA) != other.digest(SCHEMA)


@pytest.mark.parametrize(
    "change",
    [
        {"format": "localdp round 2"},
        {"in_words": "k-ary(epsilon=0.1,inputs=2)"},
        {"request_id": "ab"},
        {"randomizer": "AAAA"},
        {"randomizer": "!"},
        {"epsilon_of_a_report": 0.01},
        {"epsilon_charged": 0.01},
        {"epsilon_charged": None},
        {"query": "\x1b[2J"},
        {"query": 7},
        {"query": None},
        {"request_id": None},
    ],
)
def test_what_is_no_round_or_says_another_price_in_words_is_refused(
    change: dict[str, Any], tmp_path: Path
) -> None:
    path = tmp_path / "round.json"
    RoundFile.fresh("smoker", ENTRIES[1].made(Epsilon.requested(1), 2), SeededSource(1)).write(path)
    told = {**json.loads(path.read_text()), **change}
    path.write_text(json.dumps({key: value for key, value in told.items() if value is not None}))
    with pytest.raises(InvalidParameter):
        RoundFile.read(path)


@pytest.mark.parametrize("text", ["", "[]", "{", "[" * 200_000, "\udcff", "x" * (1 << 20) + "x"])
def test_other_files_are_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "x").write_text(text, errors="surrogateescape")
    with pytest.raises(InvalidParameter, match="is no round: `localdp reports ask` writes one"):
        RoundFile.read(tmp_path / "x")


def test_a_round_of_permanent_answers_says_what_people_pay(tmp_path: Path) -> None:
    made = memoised_symmetric_unary(Epsilon.requested(2), Epsilon.requested(1), 4)
    path = tmp_path / "round.json"
    RoundFile.fresh("smoker", made, SeededSource(1)).write(path)
    told = json.loads(path.read_text())
    assert told["epsilon_charged"] == float(made.epsilon_permanent) > told["epsilon_of_a_report"]
    assert RoundFile.read(path).charged == made.epsilon_permanent


def test_a_round_is_not_written_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "round.json").symlink_to(tmp_path / "elsewhere")
    RoundFile.fresh("smoker", ENTRIES[1].made(Epsilon.requested(1), 2), SeededSource(1)).write(
        tmp_path / "round.json"
    )
    assert not (tmp_path / "elsewhere").exists() and not (tmp_path / "round.json").is_symlink()
