"""The dishonest servers of a world, with one head: it keeps all it ever heard, signs anything, and is the collector, too.

A dishonest server has no state: what it says is computed from its share of the reports, and then changed by a lie.

    as leader   it leads each honest helper on its own, through check, vote, commit and seal, to a set of its choice: the
                same as another helper's, one without a person, all; what other honest servers said is asked, or replayed
    as helper   it answers an honest leader (`Puppet`)
    afterwards  it asks for releases, with whatever signatures it can find or make

Where a server can know who lies (`localdp.sharing.blame`), the lie is not believed, and the liar is named.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from localdp.errors import LocalDpError, ShareMismatch
from localdp.sharing.binding import Opening
from localdp.sharing.blocks import Mask, Octets, Positions
from localdp.sharing.signatures import WitnessKey
from localdp.sharing.storage import Holding, Job
from localdp.sharing.tiers import sharing_of
from tests.fault.share_book import BAD_FOR_HELPERS, BAD_FOR_LEADER, REPORTS, Batch, chunks

if TYPE_CHECKING:
    from tests.fault.share_world import World

JOB = 3  # reports that are decided together: several jobs a batch
BLOCK_LIES = (
    "names another key",
    "sends garbage",
    "alters a row",
    "misquotes",
    "misquotes another",
    "asks for no vote",
    "asks for no vote",
    "commits what was refused",
    "commits what was refused",
    "leaves somebody out",
    "commits twice",
)
SEAL_LIES = ("opens twice", "forges an opening", "replays an opening", "seals early")
HELPER_LIES = (
    "has nothing",
    "has some",
    "sends garbage",
    "alters a row",
    "sends short rows",
    "refuses all",
    "refuses some",
    "accepts all",
    "votes on less",
    "counts otherwise",
    "opens twice",
    "forges an opening",
)
SETS = ("all", "the same", "the same", "one less", "some")


class Adversary:
    """All dishonest servers of a world."""

    def __init__(self, world: World) -> None:
        self._world, self._draw = world, world.random
        self._rows: dict[tuple[int, bytes, int], Octets] = {}
        self._openings: dict[tuple[int, bytes], list[Opening]] = defaultdict(list)
        self._signatures: dict[tuple[int, bytes], dict[bytes, bytes]] = defaultdict(dict)

    # What it hears.

    def hears(self, server: int, method: str, arguments: tuple[Any, ...], answer: Any) -> None:
        """Whatever an honest server said."""
        name = arguments[0] if arguments else b""
        if method == "check" and answer[0].all():
            for position, row in zip(arguments[2].tolist(), answer[1], strict=True):
                self._rows[server, name, position] = row
        elif method == "opening":
            self._openings[server, name].append(answer)
        elif method in ("holding", "seal") and answer.sealed:
            self._signatures[server, name][answer.accepted] = answer.signature

    # What it can do by itself.

    def witness(self, server: int) -> WitnessKey:
        """What a dishonest server signs with."""
        return WitnessKey.derived(self._world.seats[server].disk.opened()[1].witness)

    def opening(self, server: int, batch: Batch, lie: str) -> Opening:
        """What a dishonest server says that it opened a collection with."""
        secret = self._draw.bytes(32) if lie == "opens twice" else bytes(32)
        made = self.witness(server).opening(batch.name, secret)
        return replace(made, signature=bytes(64)) if lie == "forges an opening" else made

    def said(self, server: int, batch: Batch, positions: Positions, lie: str) -> Octets:
        """The verifier rows of a dishonest server."""
        rows = batch.verifiers(server, batch.key, positions).copy()
        if lie == "sends garbage":
            rows[:] = np.frombuffer(self._draw.bytes(rows.size), np.uint8).reshape(rows.shape)
        if lie == "alters a row" and rows.size:
            rows[self._draw.integers(len(rows)), self._draw.integers(rows.shape[1])] ^= 1
        return rows

    # As leader.

    def attack(self, batch: Batch) -> None:
        """Lead some honest helpers, to one set or to several, and ask for releases."""
        helpers = [server for server in sorted(self._world.honest) if server]
        self._draw.shuffle(helpers)
        wanted = self._some_set(batch)
        for helper in helpers[:1] if self._draw.random() < 0.2 else helpers:
            if self._draw.random() < 0.1:
                wanted = self._some_set(batch)
            self._quietly(self._lead, batch, helper, wanted)
        for server in sorted(self._world.honest):
            self._quietly(self.ask_for_release, batch, server)

    def some_lie(self, lies: Sequence[str]) -> str:
        """Or none, as often."""
        return "" if self._draw.random() < 0.5 else str(self._draw.choice(lies))

    def _some_set(self, batch: Batch) -> set[int]:
        known = [set(one) for sets in self._world.sets(batch) for one in sets]
        everybody = set(range(REPORTS))
        last = known[-1] if known else everybody
        match str(self._draw.choice(SETS)):
            case "the same":
                return last
            case "one less":
                return last - {int(self._draw.choice(sorted(last)))}
            case "some":
                return {each for each in everybody if self._draw.random() < 0.7}
            case _:
                return everybody

    def _quietly(self, job: Callable[..., Any], *arguments: Any) -> None:
        with suppress(LocalDpError):
            job(*arguments)

    def _lead(self, batch: Batch, helper: int, wanted: set[int]) -> None:
        """A helper through the whole agreement, with lies here and there, or with none that could cost the set."""
        self._world.upload(batch, helper, [range(REPORTS)])
        careful, last = self._draw.random() < 0.5, self.some_lie(SEAL_LIES)
        if last == "seals early":
            self._quietly(self._seal, batch, helper, last)
        stored = set(self._world.call(helper, "stored", batch.name).tolist())
        for positions in chunks(sorted(wanted & stored), JOB):
            lie = "" if careful else self.some_lie(BLOCK_LIES)
            self._quietly(self._decide, batch, helper, positions, lie)
        self._seal(batch, helper, last)

    def _decide(self, batch: Batch, helper: int, positions: Positions, lie: str) -> None:
        """One block."""
        everything = np.ones(len(positions), np.bool_)
        vote = everything if lie == "asks for no vote" else self._vote(batch, helper, positions, lie)
        accepted = everything if lie == "commits what was refused" else vote.copy()
        if lie == "leaves somebody out":
            accepted[self._draw.integers(len(accepted))] = False
        number = self._world.call(helper, "holding", batch.name).jobs
        for _ in range(2 if lie == "commits twice" else 1):
            self._world.call(helper, "commit", batch.name, Job(number, positions, accepted))

    def _vote(self, batch: Batch, helper: int, positions: Positions, lie: str) -> Mask:
        key = batch.key
        if lie == "names another key":
            self._is_named(helper, "check", batch.name, self._draw.bytes(len(key)), positions)
        self._world.call(helper, "check", batch.name, key, positions)
        rows = [self._rows_of(server, batch, positions, lie) for server in range(self._world.servers)]
        if lie == "misquotes" and rows[helper].size and not self._voted(helper, batch, positions):
            self._is_named(helper, "vote", batch.name, positions, _altered(rows, helper))
        if lie == "misquotes another" and rows[helper].size:
            others = [server for server in range(self._world.servers) if server != helper]
            rows = _altered(rows, int(self._draw.choice(others)))
        vote: Mask = self._world.call(helper, "vote", batch.name, positions, rows)
        return vote

    def _rows_of(self, server: int, batch: Batch, positions: Positions, lie: str) -> Octets:
        """What a server says about reports: its own word, or what it said before, or nothing that makes sense."""
        if server not in self._world.honest:
            return self.said(server, batch, positions, lie)
        if any((server, batch.name, position) not in self._rows for position in positions.tolist()):
            key = batch.key
            self._quietly(self._world.call, server, "check", batch.name, key, positions)
        empty = np.zeros(sharing_of(batch.collection).verifier_bytes, np.uint8)
        return np.stack([self._rows.get((server, batch.name, each), empty) for each in positions.tolist()])

    def _voted(self, helper: int, batch: Batch, positions: Positions) -> bool:
        server = self._world.seats[helper].running
        return server is None or bool(server._task(batch.name).voted(positions).all())

    def _is_named(self, helper: int, method: str, *arguments: Any) -> None:
        """A lie of the leader's that is found out, unless the helper is gone or the collection has ended."""
        error = error_of(self._world.call, helper, method, *arguments)
        assert error is not None, f"{method} believed a lie that it could have known"
        named = "share server server-0" in str(error)
        assert named or not isinstance(error, ShareMismatch), f"the liar is not named: {error}"

    def _seal(self, batch: Batch, helper: int, lie: str) -> None:
        openings = [self._opening_of(server, batch, lie) for server in range(self._world.servers)]
        self._world.call(helper, "seal", batch.name, None, openings)

    def _opening_of(self, server: int, batch: Batch, lie: str) -> Opening:
        if server not in self._world.honest:
            return self.opening(server, batch, lie)
        known = self._openings[server, batch.name]
        if not known or lie != "replays an opening":
            self._quietly(self._world.call, server, "opening", batch.name)
        at = int(self._draw.integers(len(known))) if lie == "replays an opening" and known else -1
        return known[at] if known else Opening(bytes(32), bytes(64))

    # As collector.

    def ask_for_release(self, batch: Batch, server: int) -> None:
        """Of whatever a server has on record, with the best signatures that can be had, or others."""
        for each in sorted(self._world.honest):
            self._quietly(self._world.call, each, "holding", batch.name)
        accepted = self._world.call(server, "holding", batch.name).accepted
        careless = not self._world.well and self._draw.random() < 0.1
        signed = [self._signature(each, batch, accepted, careless) for each in range(self._world.servers)]
        for _ in range(int(self._draw.integers(1, 3))):
            self._world.call(server, "release", batch.name, accepted, signed)

    def _signature(self, server: int, batch: Batch, accepted: bytes, careless: bool) -> bytes:
        if server not in self._world.honest:
            return self.witness(server).sealed(batch.name, accepted)
        known = self._signatures[server, batch.name]
        others = [*known.values(), bytes(64)]
        return others[0] if careless else known.get(accepted, others[0])


def error_of(job: Callable[..., Any], *arguments: Any) -> LocalDpError | None:
    """Why something was refused; None if it was not."""
    try:
        job(*arguments)
    except LocalDpError as error:
        return error
    return None


def _altered(rows: Sequence[Octets], which: int) -> list[Octets]:
    """One server's word, changed."""
    made = [part.copy() for part in rows]
    made[which][0, 0] ^= 1
    return made


class Puppet:
    """A dishonest helper, as an honest leader sees it: each answer is what it should be, or a lie."""

    def __init__(self, adversary: Adversary, world: World, server: int, batch: Batch) -> None:
        self._adversary, self._world, self._server, self._batch = adversary, world, server, batch
        self._lie = adversary.some_lie(HELPER_LIES)
        self.name = batch.collection.servers[server]

    def check(self, collection: bytes, verify_key: bytes, positions: Positions) -> tuple[Mask, Octets]:
        """It has everything, whatever it was sent."""
        held = np.ones(len(positions), np.bool_)
        if self._lie in ("has nothing", "has some"):
            held[0 if self._lie == "has nothing" else -1 :] = False
        rows = self._adversary.said(self._server, self._batch, positions, self._lie)
        return held, rows[:-1] if self._lie == "sends short rows" else rows

    def vote(self, collection: bytes, positions: Positions, verifiers: Sequence[Octets]) -> Mask:
        """It accepts what is good."""
        vote = ~np.isin(positions, [BAD_FOR_LEADER, BAD_FOR_HELPERS])
        match self._lie:
            case "refuses all":
                vote[:] = False
            case "refuses some":
                vote[0] = False
            case "accepts all":
                vote[:] = True
            case "votes on less":
                return vote[:-1]
        return vote

    def commit(self, collection: bytes, job: Job) -> None:
        """It counts nothing."""

    def opening(self, collection: bytes) -> Opening:
        """With a secret that everybody may know."""
        return self._adversary.opening(self._server, self._batch, self._lie)

    def seal(
        self, collection: bytes, expected: Holding | None = None, openings: Sequence[Opening] = ()
    ) -> Holding:
        """Whatever it is told."""
        assert expected is not None
        return expected

    def holding(self, collection: bytes) -> Holding:
        """What the leader counts."""
        holding: Holding = self._world.call(0, "holding", collection)
        return replace(holding, reports=1) if self._lie == "counts otherwise" else holding
