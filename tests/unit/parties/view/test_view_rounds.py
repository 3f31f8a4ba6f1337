"""Rounds and parties as they are shown: notes that are checked, the folded view, its picture, lines and JSON."""

from __future__ import annotations

import json
import os
import pty
from dataclasses import replace
from typing import Any

import pytest
from rich.console import Console
from rich.text import Text

from localdp.errors import BudgetExhausted, StorageFailed
from localdp.experiments.population import made_up_people
from localdp.randomness.hazmat import SeededSource
from parties.federated.events import Event
from parties.federation import Federation
from parties.view import watching
from parties.view.columns import TableColumn, fitted
from parties.view.parties import PartiesShown
from parties.view.rounds import MOST_ROUNDS, Note, PartiesView, PartyView, note_of, note_of_event
from parties.view.rounds_table import parties_table, round_line
from parties.view.screen import kind_of
from parties.view.words import duration, estimate, one_line
from tests.support.terminals import plain_console, rendered

ENDED = Note(
    "round ended",
    "a1",
    "local",
    "smoker",
    1,
    60,
    55,
    3,
    4,
    1.0,
    0.25,
    0.0064,
    0.0125,
    missing={"unreachable": 5},
)
FAILED = Note("round failed", "a2", "shared", "age >= 65", epsilon=0.5, reason="budget_exhausted")
PARTIES = (
    PartyView("server-0", "share server"),
    PartyView("party-0", "agent", True, 30, 2, 7.0, 8.0),
    PartyView("party-1", "agent", False, 30, 1, 9.0, 9.0),
)


def view_of(*notes: Note) -> PartiesView:
    view = PartiesView()
    for party in PARTIES:
        view = view.seen(party)
    for note in notes:
        view = view.told(note)
    return view


def test_a_note_survives_its_way_through_json() -> None:
    for note in (ENDED, FAILED, Note("round started", "a3", "shuffled", "smoker")):
        assert note_of(json.loads(json.dumps(note.to_data()))) == note


@pytest.mark.parametrize(
    "changed",
    [
        {"kind": "party answered"},
        {"kind": None},
        {"round": ""},
        {"round": 7},
        {"query": ["smoker"]},
        {"query": "x" * 10_000},
        {"people": -1},
        {"people": True},
        {"people": 10**30},
        {"reports": 1.5},
        {"value": "0.5"},
        {"value": float("nan")},
        {"standard_error": float("inf")},
        {"epsilon": True},
        {"missing": ["unreachable"]},
        {"missing": {"unreachable": -1}},
        {"missing": {str(number): 1 for number in range(21)}},
    ],
)
def test_whatever_is_not_a_note_is_dropped(changed: dict[str, Any]) -> None:
    assert note_of({**ENDED.to_data(), **changed}) is None
    others: list[Any] = [None, 3, "text", [], {}]
    assert not [other for other in others if note_of(other) is not None]


def test_what_a_note_says_cannot_drive_a_terminal() -> None:
    note = note_of({**ENDED.to_data(), "query": "a\x1b[2J\u202eb\nc", "missing": {"\x1b[31m": 1}})
    assert note is not None
    assert (note.query, note.missing) == ("a [2J b c", {"[31m": 1})
    drawn = "\n".join(rendered(parties_table(view_of(note), 80, 30), 80))
    assert "\x1b" not in drawn


def test_an_event_of_a_federation_becomes_a_note() -> None:
    complete = Event("round ended", "local", ("smoker", "age >= 65"), 60, reports=60, epsilon=1.0)
    note = note_of_event(complete, "a1", 4)
    assert note == Note("round ended", "a1", "local", "smoker", 2, 60, 60, 4, 4, 1.0)
    in_part = replace(complete, missing={"unreachable": 20}, parties=3, value=0.5, standard_error=0.1)
    note = note_of_event(in_part, "a1", 4)
    assert note is not None
    assert (note.parties, note.asked, note.value, note.standard_error) == (3, 4, 0.5, 0.1)
    failed = note_of_event(Event("round failed", "local", ("smoker",), 60, reason="quorum_missed"), "a1", 4)
    assert failed is not None
    assert (failed.reason, failed.parties, failed.asked) == ("quorum_missed", 0, 0)
    assert note_of_event(Event("party answered", "local", party="party-0"), "a1", 4) is None


def test_rounds_are_folded_into_the_latest_step_of_each_and_counts_by_reason() -> None:
    started = replace(ENDED, kind="round started", value=None, missing={})
    view = view_of(started, ENDED, FAILED, replace(FAILED, round="a4"))
    assert list(view.rounds) == ["a1", "a2", "a4"]
    assert view.rounds["a1"] == ENDED
    assert (view.ended, view.failures, view.missing) == (1, {"budget_exhausted": 2}, {"unreachable": 5})
    assert view.budgets == (7.0, 9.0)
    assert view.gone == ["party-1"]
    assert [party.name for party in view.notable(2)] == ["party-1", "party-0"]


def test_only_the_latest_rounds_are_remembered_and_reasons_are_bounded() -> None:
    view = PartiesView()
    for number in range(3 * MOST_ROUNDS):
        view = view.told(replace(FAILED, round=f"r{number}", reason=f"reason {number}"))
    assert list(view.rounds) == [f"r{number}" for number in range(2 * MOST_ROUNDS, 3 * MOST_ROUNDS)]
    assert len(view.failures) == 20


def test_the_picture_says_who_is_there_what_is_left_and_what_was_found() -> None:
    shown = rendered(parties_table(view_of(ENDED, FAILED), 80, 30), 80)
    assert [line.split() for line in shown[:4]] == [
        ["party", "state", "people", "answered", "budget", "left"],
        ["party-1", "gone", "30", "1", "9"],
        ["party-0", "up", "30", "2", "7", "to", "8"],
        ["server-0", "up", "-", "-", "-"],
    ]
    assert shown[4] == "1 of 1 share servers up; 1 of 2 agents up; 60 people have 7 to 9 left"
    assert shown[6].split() == ["round", "model", "epsilon", "parties", "estimate", "(95", "%)", "state"]
    assert shown[7].split() == ["smoker", "local", "1", "3/4", "0.250", "±", "0.013", "in", "part"]
    assert shown[8].split() == ["age", ">=", "65", "shared", "0.5", "-", "-", "budget_exhausted"]
    assert shown[9] == "rounds failed: 1 budget_exhausted; people missing: 5 unreachable"


@pytest.mark.parametrize("columns", [80, 120])
@pytest.mark.parametrize("lines", [16, 24, 50])
def test_long_queries_are_cut_and_status_words_are_not(columns: int, lines: int) -> None:
    view = PartiesView()
    for number in range(2000):
        view = view.seen(PartyView(f"party-{number}", "agent", number % 7 > 0, 25, 3, 1.25, 9.875))
    for number in range(40):
        long = f"{number} " + " and ".join(["age >= 65"] * 20)
        view = view.told(replace(ENDED, round=f"e{number}", query=long, queries=3, value=-0.000123))
        view = view.told(replace(FAILED, round=f"f{number}", model="shuffled", query=long))
    shown = rendered(parties_table(view, columns, lines), columns, lines)
    assert max(map(len, shown)) <= columns
    assert len(shown) < lines
    words = [line for line in shown if "budget_exhausted" in line]
    assert len(words) >= 2
    assert any(line.endswith("in part") for line in shown)
    assert " 0.000 ± 0.013" in "\n".join(shown)
    assert any(line.startswith("party-0 ") and "gone" in line for line in shown)


def test_columns_that_are_too_wide_shrink_then_close_up_then_go() -> None:
    columns = [
        TableColumn("query", [Text("q" * 40)], right=False, elastic=True),
        TableColumn("b", [Text("b" * 10)], spare=1),
        TableColumn("c", [Text("c" * 10)]),
    ]
    assert [
        [c.width for c in kept] + [gap] for kept, gap in (fitted(columns, 64), fitted(columns, 50))
    ] == [
        [40, 10, 10, 2],
        [26, 10, 10, 2],
    ]
    assert [column.name for column in fitted(columns, 34)[0]] == ["query", "b", "c"]
    kept, gap = fitted(columns, 25)
    assert [column.name for column in kept] == ["query", "c"]
    assert kept[0].cells[0].plain == "q" * (kept[0].width - 1) + "…"
    assert gap == 2


def test_lines_tell_of_rounds_that_are_over_and_of_parties_that_go() -> None:
    console, file = plain_console()
    shown = PartiesShown(console, json=False)
    shown.seen(*(replace(party, alive=True) for party in PARTIES))
    with shown.on_screen():
        shown.told(replace(ENDED, kind="round started"))
        shown.told(ENDED)
        shown.told(FAILED)
        shown.seen(*PARTIES)
        shown.seen(*PARTIES)
    assert file.getvalue().splitlines() == [
        "local: smoker; 0.250 ± 0.013 (95 %); epsilon 1; 55 reports of 60 people; 3 of 4 parties; missing: 5 unreachable; "
        "left: 7 to 9",
        "shared: age >= 65; failed: budget_exhausted",
        "gone: party-1",
    ]
    assert round_line(ENDED, PartiesView()).endswith("missing: 5 unreachable")


def test_machines_get_every_step_and_every_change_of_budgets() -> None:
    console, file = plain_console()
    shown = PartiesShown(console, json=True)
    shown.seen(*(replace(party, alive=True) for party in PARTIES))
    shown.told(ENDED)
    shown.seen(*PARTIES)
    shown.seen(replace(PARTIES[1], lowest=6.0))
    told = [json.loads(line) for line in file.getvalue().splitlines()]
    assert all(one["schema_version"] == 1 for one in told)
    assert [one["event"] for one in told] == [
        "budgets",
        "round ended",
        "party gone",
        "budgets",
    ]
    assert told[0] == {"schema_version": 1, "event": "budgets", "lowest": 7.0, "highest": 9.0}
    assert (told[1]["value"], told[1]["standard_error"], told[1]["missing"]) == (
        0.25,
        0.0064,
        {"unreachable": 5},
    )
    assert told[3]["lowest"] == 6.0


def test_numbers_have_no_more_digits_than_their_error_bars_have_a_use_for() -> None:
    assert estimate(0.123456, 0.0123) == "0.123 ± 0.012"
    assert estimate(1234.56, 98.7) == "1235 ± 99"
    assert estimate(0.5, None) == "0.5"
    assert estimate(None, 0.1) == "-"
    assert estimate(0.25, 0.0) == "0.25 ± 0"
    assert estimate(1e-9, 1e-11) == "1e-09 ± 1e-11"
    assert [duration(seconds) for seconds in (5, 65, 7200, None, -1, float("inf"))] == [
        "0:05",
        "1:05",
        "2:00:00",
        "-",
        "-",
        "-",
    ]
    assert len(one_line("x" * 10**6)) == 500


def test_a_file_is_never_redrawn_even_if_colours_are_forced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    console, file = plain_console()
    assert kind_of(Console(file=file), json=False) == "lines"
    assert kind_of(console, json=True) == "json"


def test_a_terminal_gets_a_picture_unless_it_is_a_dumb_one(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = pty.openpty()
    try:
        with os.fdopen(theirs, "w") as file:
            for term, kind in (("xterm-256color", "picture"), ("dumb", "lines")):
                monkeypatch.setenv("TERM", term)
                assert kind_of(Console(file=file), json=False) == kind
    finally:
        os.close(ours)


def test_a_ledger_that_cannot_be_read_fails_no_round(monkeypatch: pytest.MonkeyPatch) -> None:
    console, file = plain_console()
    with Federation.launch(PEOPLE, parties=2, processes=False, insecure_seed=3) as federation:

        def unreadable(*_: object) -> Any:
            raise StorageFailed("the disk is gone")

        monkeypatch.setattr(federation, "budgets", unreadable)
        with watching(federation, console):
            federation.oracle("local", 1).answer(["smoker"])
    assert file.getvalue().rstrip().endswith("2 of 2 parties")


PEOPLE = made_up_people(60, SeededSource(1))


def test_a_federation_of_a_script_is_watched() -> None:
    console, file = plain_console()
    with (
        Federation.launch(PEOPLE, parties=2, budget=2, processes=False, insecure_seed=3) as federation,
        watching(federation, console),
    ):
        federation.oracle("local", 1).answer(["smoker"])
        federation.oracle("shared", 1).answer(["smoker", "age >= 65"])
        with pytest.raises(BudgetExhausted):
            federation.oracle("local", 1).answer(["smoker"])
    lines = file.getvalue().splitlines()
    assert len(lines) == 3
    assert lines[0].startswith("local: smoker; ")
    assert lines[0].endswith("; epsilon 1; 60 reports of 60 people; 2 of 2 parties; left: 1")
    assert lines[1].startswith("shared: smoker and 1 more; epsilon 1; ")
    assert lines[2] == "local: smoker; failed: budget_exhausted"
    federation.events.tell(Event("round failed", "local", reason="unreachable"))  # nobody listens any more
    assert file.getvalue().splitlines() == lines
