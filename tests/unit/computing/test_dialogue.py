"""Rounds: who gets what, what shares a round, and what happens when a server stops."""

from __future__ import annotations

import pytest

from localdp.computing.dialogue import (
    SERVERS,
    Dialogue,
    Exchange,
    Traffic,
    others,
    outcomes,
    run_together,
    together,
)
from localdp.errors import ComputationAborted


def told_around(server: int, rounds: int) -> Dialogue[list[int]]:
    """Each server sends what it heard from the next one, and at first its own number."""
    heard = [server]
    for _ in range(rounds):
        received = yield Exchange(to_previous=bytes([heard[-1]]), from_next=1)
        heard.append(received.next[0])
    return heard


def test_a_message_to_the_previous_server_comes_from_the_next() -> None:
    traffic = Traffic()
    heard = run_together([told_around(server, 3) for server in range(SERVERS)], traffic=traffic)
    assert heard == [[0, 1, 2, 0], [1, 2, 0, 1], [2, 0, 1, 2]]
    assert (traffic.rounds, traffic.octets) == (3, (3, 3, 3))


def test_independent_dialogues_share_rounds_and_keep_their_messages_apart() -> None:
    traffic = Traffic()
    parts = [
        together(told_around(server, 1), told_around((server + 1) % 3, 4)) for server in range(SERVERS)
    ]
    short, long = run_together(parts, traffic=traffic)[0]
    assert (short, long) == ([0, 1], [1, 2, 0, 1, 2])
    assert traffic.rounds == 4
    assert run_together([together() for _ in range(SERVERS)]) == [[], [], []]


def test_whoever_waits_for_a_server_that_stopped_stops_and_suspects_both_others() -> None:
    def stopping(server: int) -> Dialogue[list[int]]:
        yield Exchange(to_previous=b"x", from_next=1)
        if server == 1:
            raise ComputationAborted.by("a check", (0,))
        yield Exchange(to_previous=b"x", from_next=1)
        yield Exchange(to_previous=b"x", from_next=1)
        return [server]

    ends = outcomes([stopping(server) for server in range(SERVERS)])
    stopped = [end for end in ends if isinstance(end, ComputationAborted)]
    assert [end.check for end in stopped] == ["another server stopped", "a check", "another server stopped"]
    assert [end.suspects for end in stopped] == [others(0), (0,), others(2)]
    with pytest.raises(ComputationAborted, match="nothing was opened"):
        run_together([stopping(server) for server in range(SERVERS)])
