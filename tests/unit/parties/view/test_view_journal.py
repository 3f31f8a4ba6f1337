"""The journal of rounds: several writers, torn lines, garbage, bounds; and nothing is written anywhere else."""

from __future__ import annotations

import json
import os
import stat
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from localdp.errors import BudgetExhausted, InvalidParameter
from localdp.experiments.population import made_up_people
from localdp.randomness.hazmat import SeededSource
from parties.addresses import State, read_state, write_state
from parties.coordinator import Peer
from parties.federated.events import Event, Events
from parties.federation import Federation
from parties.view import journal
from parties.view.journal import JournalReader, append, journal_rounds, make_journal
from parties.view.rounds import Note
from tests.support.processes import somebody_without_rights

NOTE = Note("round ended", "a1", "local", "smoker", people=60, reports=60, epsilon=1.0, value=0.25)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = tmp_path / "rounds.jsonl"
    make_journal(made)
    return made


def read(path: Path) -> list[Note]:
    return list(JournalReader(path).notes())


def test_what_is_appended_is_read_once_in_order(path: Path) -> None:
    reader = JournalReader(path)
    assert list(reader.notes()) == []
    append(path, NOTE)
    append(path, replace(NOTE, round="a2"))
    assert [note.round for note in reader.notes()] == ["a1", "a2"]
    assert list(reader.notes()) == []
    append(path, replace(NOTE, round="a3"))
    assert list(reader.notes()) == [replace(NOTE, round="a3")]


def test_it_is_for_its_owners_eyes_and_never_made_over_something(path: Path) -> None:
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with pytest.raises(FileExistsError):
        make_journal(path)


@pytest.mark.parametrize(
    "garbage",
    [
        b"\x00\xff\xfe",
        b"[" * 10_000,
        b"{}",
        b"null",
        b'{"kind": "round ended"',
        b"x" * 100_000,
        b"NaN",
        b"\r\n\x85",
    ],
    ids=["bytes", "nested", "empty", "null", "torn", "long", "nan", "breaks"],
)
def test_garbage_costs_nothing_but_itself(path: Path, garbage: bytes) -> None:
    append(path, NOTE)
    with path.open("ab") as file:
        file.write(b"\n" + garbage)  # and no line break: it was cut off
    append(path, replace(NOTE, round="a2"))
    assert [note.round for note in read(path)] == ["a1", "a2"]


def test_a_line_that_is_still_being_written_is_waited_for(path: Path) -> None:
    reader, line = JournalReader(path), json.dumps(NOTE.to_data()).encode()
    with path.open("ab", buffering=0) as file:
        file.write(line[:20])
        assert list(reader.notes()) == []
        file.write(line[20:] + b"\n")
    assert list(reader.notes()) == [NOTE]


def test_a_line_without_end_is_not_waited_for(path: Path) -> None:
    reader = JournalReader(path)
    with path.open("ab") as file:
        file.write(b"x" * (3 << 20))
    for _ in range(4):
        assert list(reader.notes()) == []
    append(path, NOTE)
    assert list(reader.notes()) == [NOTE]


def test_several_writers_never_mix_their_lines(path: Path) -> None:
    def write(writer: int) -> None:
        for number in range(100):
            append(path, replace(NOTE, round=f"{writer}-{number}", query="smoker " * 50))

    threads = [threading.Thread(target=write, args=(writer,)) for writer in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    names = {f"{writer}-{number}" for writer in range(4) for number in range(100)}
    assert sorted(note.round for note in read(path)) == sorted(names)


def test_beyond_its_bound_nothing_is_written(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal, "LARGEST_BYTES", 2000)
    for number in range(100):
        append(path, replace(NOTE, round=f"a{number}"))
    assert 1000 < path.stat().st_size <= 2000
    monkeypatch.undo()
    append(path, replace(NOTE, query="x" * journal.LONGEST_LINE))
    assert path.stat().st_size <= 2000


def test_nothing_is_appended_to_what_is_no_journal_of_ours(tmp_path: Path, path: Path) -> None:
    precious = tmp_path / ".profile"
    precious.write_text("export PATH\n")
    precious.chmod(0o600)
    append(precious, NOTE)
    assert precious.read_text() == "export PATH\n"
    (tmp_path / "link").symlink_to(path)
    append(tmp_path / "link", NOTE)
    path.chmod(0o644)
    append(path, NOTE)
    assert read(path) == []
    os.mkfifo(tmp_path / "pipe")
    for other in ("pipe", "missing", "."):
        append(tmp_path / other, NOTE)
    assert not (tmp_path / "missing").exists()
    assert list(JournalReader(tmp_path / "missing").notes()) == []
    assert list(JournalReader(tmp_path).notes()) == []


def test_who_may_not_write_carries_on(path: Path) -> None:
    with somebody_without_rights():
        append(path, NOTE)


def test_a_round_that_fails_is_told_with_the_reason(path: Path) -> None:
    def interrupted(event: Event) -> None:
        if event.kind == "party answered":
            raise KeyboardInterrupt

    with Federation.simulate(made_up_people(60, SeededSource(1)), budget=2) as federation:
        journal_rounds(federation.events, path, len(federation.parties))
        oracle = federation.oracle("local", "1.5")
        oracle.answer(["smoker"])
        with pytest.raises(BudgetExhausted):
            oracle.answer(["smoker"])
        federation.events.subscribe(interrupted)
        with pytest.raises(KeyboardInterrupt):
            federation.oracle("local", "0.5").answer(["smoker"])
    notes = read(path)
    assert [(note.kind, note.reason) for note in notes] == [
        ("round started", ""),
        ("round ended", ""),
        ("round started", ""),
        ("round failed", "budget_exhausted"),
        ("round started", ""),
        ("round failed", "interrupted"),
    ]
    assert len({note.round for note in notes}) == 3


def test_the_rounds_of_a_federation_are_noted_with_what_was_released(path: Path) -> None:
    people = made_up_people(60, SeededSource(1))
    with Federation.launch(people, parties=3, budget=5, processes=False, insecure_seed=3) as federation:
        stop = journal_rounds(federation.events, path, len(federation.parties))
        oracle = federation.oracle("local", 1)
        answer = oracle.answer(["smoker"])[0]
        oracle.answer(["smoker"])
        federation.oracle("shared", 2).answer_vectors(["cells(region)"])
        stop()
        federation.oracle("local", 1).answer(["smoker"])
        journal_rounds(federation.events, None, 3)
    first, ended, _, again, _, histogram = read(path)
    assert again.epsilon == 1.0  # of that round alone
    assert first.round == ended.round != histogram.round
    assert (ended.value, ended.standard_error) == (answer.value, answer.standard_error)
    assert (ended.epsilon, ended.parties, ended.asked, ended.reports) == (1.0, 3, 3, 60)
    assert (histogram.model, histogram.epsilon, histogram.value) == ("shared", 2.0, None)


def test_a_state_file_names_the_journal(tmp_path: Path) -> None:
    state = State((Peer("party-0", "127.0.0.1:1"),), (), None, tmp_path / "rounds.jsonl")
    write_state(state, tmp_path / "state.json")
    assert read_state(tmp_path / "state.json") == state
    (tmp_path / "state.json").write_text('{"agents": [], "share_servers": [], "events": 3}')
    with pytest.raises(InvalidParameter):
        read_state(tmp_path / "state.json")


def test_nobody_waits_for_something_else_in_the_journals_place(path: Path) -> None:
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    assert list(JournalReader(path).notes()) == []


def test_a_round_of_some_of_the_parties_is_noted_as_theirs(path: Path) -> None:
    events = Events()
    journal_rounds(events, path, 4)
    events.tell(Event("round started", "local", ("smoker",), 10))
    events.tell(Event("round ended", "local", ("smoker",), 10, reports=10, asked=2))
    ended = list(JournalReader(path).notes())[-1]
    assert (ended.parties, ended.asked) == (2, 2)
