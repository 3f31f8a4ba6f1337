"""While a round is under way, whom it waits for is said by name."""

from __future__ import annotations

from parties.command.asking import _Followed
from parties.federated.events import Event


def test_a_round_says_whom_it_still_waits_for() -> None:
    said: list[str] = []
    followed = _Followed(("a", "b", "c", "d", "e"), said.append)
    for _ in range(2):
        followed(Event("round started", "local", ("smoker",), 1000))
        for party in "abcde":
            followed(Event("party answered", "local", party=party))
        followed(Event("round ended", "local"))
    once = [
        "waiting for b, c, d and 1 more",
        "waiting for c, d, e",
        "waiting for d, e",
        "waiting for e",
        "adding up",
    ]
    assert said == ["asking 1,000 people", *once, "asking 1,000 people, round 2", *once]


def test_behind_a_shuffler_nobody_is_known_by_name() -> None:
    said: list[str] = []
    followed = _Followed((), said.append)
    followed(Event("round started", "shuffled", ("smoker",), 1000))
    followed(Event("party answered", "shuffled", party="a"))
    assert said == ["asking 1,000 people"]
