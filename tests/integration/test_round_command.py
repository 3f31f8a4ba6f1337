"""`localdp round` says which party is missing, and why; and what is wrong with a file, in one line."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, get_origin, get_type_hints

import numpy as np
import pytest
from typer.testing import CliRunner

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.ledger import MemoryLedger
from localdp.domains import BitDomain, Records, Schema
from localdp.party.party import Party
from localdp.party.policy import Policy
from parties.addresses import State, write_state
from parties.agent.service import SERVICE_NAME, AgentService
from parties.command.main import app
from parties.command.round import round_command
from parties.coordinator import Peer
from parties.view.journal import JournalReader, make_journal
from tests.support.federations import ONE, parties_of, party, people
from tests.support.processes import somebody_without_rights
from tests.support.rounds import Served, enrolled, nobody


def command(
    directory: Path, peers: Sequence[Peer], *more: str, sizes: Mapping[str, int] | None = None
) -> Any:
    state = directory / "parties.json"
    write_state(State(tuple(peers), (), people=sizes or {}), state)
    files = ("--connect", str(state), "--journal", str(directory / "journal"))
    return CliRunner().invoke(app, ["round", "smoker", *files, "--deadline", "20s", *more])


def two_parties() -> tuple[Party, Party]:
    """Of 20 and of 10 people."""
    everybody = people(30)
    return party(everybody.slice(0, 20), 0), party(everybody.slice(20, 30), 1)


def stranger(served: Served) -> Peer:
    """A party with other columns, at its address."""
    records = Records.from_columns(Schema({"smokr": BitDomain()}), {"smokr": np.ones(5, np.bool_)})
    other = Party("stranger", records, bytes(32), MemoryLedger(5, ONE))
    return Peer("stranger", served.loopback.serve(SERVICE_NAME, AgentService(other, {})))


def test_who_is_not_enrolled_is_named_with_the_reason(tmp_path: Path) -> None:
    with enrolled(tmp_path / "own", parties_of(people(20), 2)) as served:
        peers = [*served.peers, stranger(served), Peer("ghost", nobody())]
        told = command(tmp_path, peers, "--quorum", "0.5")
        data = command(tmp_path, peers, "--quorum", "0.5", "--json")
    assert told.exit_code == 0
    other, away = told.stderr.splitlines()
    assert other.startswith(
        "not enrolled: party stranger has other columns than the enrolled parties: column 'smoker'"
    )
    assert away == "not enrolled: party ghost cannot be reached"
    found: dict[str, Any] = json.loads(data.stdout)["data"]
    assert found["not_enrolled"] == {"schema_differs": 1, "unreachable": 1}
    assert found["parties_not_enrolled"]["ghost"] == "party ghost cannot be reached"
    assert list(found["parties_not_enrolled"]) == ["stranger", "ghost"]
    assert found["parties_missing"] == found["parties_not_enrolled"]
    assert found["asked"] == {"parties": 4, "people": 20, "unknown": 2}
    assert found["missing"]["unreachable"] == {"parties": 1, "people": 0, "unknown": 1}


@pytest.mark.parametrize("stated", [True, False])
def test_who_is_down_at_the_first_contact_is_missing_and_counted(tmp_path: Path, stated: bool) -> None:
    """Two thirds of the people answer: enough for 0.6, and never for 1, which charges nobody."""
    north, _ = two_parties()
    size = {"south": 10} if stated else {}
    with enrolled(tmp_path / "own", [north]) as served:
        peers = [*served.peers, Peer("south", nobody())]
        all_of_them = command(tmp_path, peers, "--quorum", "1", sizes=size)
        assert served.spent(0) == {0}
        some = command(tmp_path, peers, "--quorum", "0.6", "--json", sizes=size)
    assert all_of_them.exit_code == 3
    missing = "10 people" if stated else "nobody knows how many"
    last = all_of_them.stderr.splitlines()[-1]
    assert f"(1 of 2 parties; missing: 1 unreachable ({missing}))" in last and "nobody was asked" in last
    assert ('"people": 1200' in last) is ("20 of 20 or more people are there" in last) is not stated
    found: dict[str, Any] = json.loads(some.stdout)
    if not stated:  # one of two parties, of which nobody knows how large the other is
        assert (found["exit_code"], found["error_code"]) == (3, "unreachable")
        return
    assert found["data"]["missing"] == {"unreachable": {"parties": 1, "people": 10, "unknown": 0}}
    assert found["data"]["asked"]["people"] == found["data"]["people"] == 30
    assert found["data"]["answered"]["people"] == 20


def test_who_is_met_later_is_asked_for_as_many_as_it_says_itself(tmp_path: Path) -> None:
    north, south = two_parties()
    with enrolled(tmp_path / "own", [north, south]) as served:
        away = [served.peers[0], Peer(south.name, nobody())]
        first = command(tmp_path, away, "--quorum", "0.6", "--epsilon", "0.5", sizes={south.name: 3})
        later = command(tmp_path, served.peers, "--quorum", "1", "--epsilon", "0.25", "--json")
    assert (first.exit_code, later.exit_code) == (0, 0)
    assert json.loads(later.stdout)["data"]["asked"] == {"parties": 2, "people": 30, "unknown": 0}


def test_an_earlier_round_knows_how_many_are_missing(tmp_path: Path) -> None:
    north, south = two_parties()
    with enrolled(tmp_path / "own", [north, south]) as served:
        assert command(tmp_path, served.peers, "--quorum", "1", "--epsilon", "0.5").exit_code == 0
        moved = [served.peers[0], Peer(south.name, nobody())]
        told = command(tmp_path, moved, "--quorum", "0.6", "--epsilon", "0.25", "--json")
    assert json.loads(told.stdout)["data"]["missing"]["unreachable"]["people"] == 10


def test_somebody_else_at_a_partys_address_is_told_under_the_partys_name(tmp_path: Path) -> None:
    with enrolled(tmp_path / "own", parties_of(people(20), 2)) as served:
        told = command(
            tmp_path, [served.peers[0], Peer("north", served.peers[1].address)], "--quorum", "0.5"
        )
    assert told.stderr.splitlines() == ["not enrolled: party north calls itself otherwise"]


def test_if_nobody_can_be_enrolled_the_error_says_why_in_one_line(tmp_path: Path) -> None:
    told = command(tmp_path, [Peer("ghost", nobody()), Peer("shade", nobody()), Peer("wraith", nobody())])
    assert told.exit_code == 3
    (only,) = told.stderr.splitlines()
    assert "unreachable: nobody can be enrolled: party ghost cannot be reached (and 2 more parties)" in only


def test_who_refuses_is_named_in_what_the_party_said(tmp_path: Path) -> None:
    small, *others = parties_of(people(40), 4)
    book, rules = MemoryLedger(10, Epsilon.requested("0.1")), Policy(largest_epsilon=Epsilon.requested(1))
    poor = Party(small.name, small.records, bytes(32), book, rules)
    with enrolled(tmp_path / "own", [poor, *others]) as served:
        answered = command(tmp_path, served.peers)
        missed = command(tmp_path, served.peers, "--quorum", "1", "--epsilon", "0.5")
        data = command(tmp_path, served.peers, "--json")
    assert answered.exit_code == 0
    (only,) = answered.stderr.splitlines()
    assert only.startswith(f"no answer: party {poor.name}: ") and "budget" in only
    assert missed.exit_code == 4
    first, last = missed.stderr.splitlines()
    assert first == only.replace("epsilon 1 ", "epsilon 0.5 ")
    assert "quorum_missed" in last
    found: dict[str, Any] = json.loads(data.stdout)["data"]
    assert found["parties_missing"] == {poor.name: only.removeprefix("no answer: ")}


def test_of_many_parties_a_few_are_named(tmp_path: Path) -> None:
    ghosts = [Peer(f"ghost-{number}", nobody()) for number in range(8)]
    with enrolled(tmp_path / "own", parties_of(people(20), 2)) as served:
        told = command(tmp_path, [*served.peers, *ghosts], "--quorum", "0.2")
    lines = told.stderr.splitlines()
    assert len(lines) == 6
    assert lines[-1] == "not enrolled: 3 more"


def test_whoever_watches_the_parties_is_told_of_the_round(tmp_path: Path) -> None:
    """Of its end, with who is missing; and of its failure, with the reason."""
    north, _ = two_parties()
    watched, state = tmp_path / "rounds.jsonl", tmp_path / "parties.json"
    make_journal(watched)
    files = ("--connect", str(state), "--journal", str(tmp_path / "journal"))
    with enrolled(tmp_path / "own", [north]) as served:
        peers = (*served.peers, Peer("south", nobody()))
        write_state(State(peers, (), events=watched, people={"south": 10}), state)
        for quorum in ("0.6", "1"):
            CliRunner().invoke(app, ["round", "smoker", *files, "--quorum", quorum, "--epsilon", "0.5"])
    started, ended, _, failed = JournalReader(watched).notes()
    assert (started.round, started.epsilon) == (ended.round, 0.5)
    assert (ended.people, ended.reports, ended.missing) == (30, 20, {"unreachable": 10})
    assert (ended.parties, ended.asked) == (1, 2)
    assert ended.value is not None and ended.half_width is not None
    assert (failed.kind, failed.reason) == ("round failed", "unreachable")


@pytest.mark.parametrize("wrong", ["a directory", "not there", "no rights", "no JSON"])
def test_a_file_of_addresses_that_cannot_be_read_is_one_line(wrong: str, tmp_path: Path) -> None:
    state = tmp_path / "parties.json"
    if wrong == "a directory":
        state.mkdir()
    elif wrong != "not there":
        state.write_text("{")
    if wrong == "no rights":
        state.chmod(0)
    arguments = ["round", "smoker", "--connect", str(state), "--journal", str(tmp_path / "journal")]
    if wrong == "no rights":
        with somebody_without_rights():
            told = CliRunner().invoke(app, arguments)
    else:
        told = CliRunner().invoke(app, arguments)
    (only,) = told.stderr.splitlines()
    assert str(state) in only


def test_the_parser_leaves_files_to_the_command() -> None:
    """It would tell of them in four lines; and it asks for the rights of the real user, whom a test cannot change."""
    hints = get_type_hints(round_command, include_extras=True)
    files = [hint.__metadata__[0] for hint in hints.values() if get_origin(hint) and "Path" in str(hint)]
    assert len(files) == 2  # a journal may be an address, too
    assert not any(one.readable or one.exists for one in files)
