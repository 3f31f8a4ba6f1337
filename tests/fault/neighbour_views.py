"""Everything that callers and share servers see of two neighbouring histories, and whether it is the same.

With the same coins the two views have to be equal, byte for byte: messages, their number and lengths, statuses, reasons,
texts, prices.  One thing may differ: what the one person reports whose record differs, once the owner has published
it.  So these reports are taken out of the messages before they are compared; until then they are compared as well.
"""

from __future__ import annotations

import asyncio
import shutil
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from google.rpc import error_details_pb2, status_pb2

from localdp.oracles.shared import binding_of
from localdp.sharing.blocks import ShareBlock
from localdp.sharing.collection import Collection, Contributor
from localdp.sharing.encoding import Encoding
from localdp.sharing.noise_plans import NoisePlan
from parties import codec
from parties.agent.state import AgentState
from parties.shares.messages import block_from_sealed
from parties.wire.v1 import oracle_pb2 as pb
from tests.fault.neighbour_agents import Agent, Chance, hours
from tests.fault.neighbours import HALF, PEOPLE, Ask, Change, ChangeBoth, Happening, Operation, Wait

View = list[object]


@dataclass(frozen=True)
class Difference:
    """What told two histories apart."""

    operation: Operation
    views: tuple[View, View]


@dataclass
class Seen:
    """How often something was seen, so that a test which says nothing is noticed."""

    reasons: Counter[str] = field(default_factory=Counter)
    methods: Counter[str] = field(default_factory=Counter)
    own_reports: Counter[str] = field(default_factory=Counter)  # of the person, in two histories


class Pair:
    """Two agents that begin alike."""

    def __init__(
        self, template: Path, directory: Path, chance: Chance, kind: type[AgentState], seen: Seen
    ) -> None:
        self._chance, self._seen = chance, seen
        self._began = chance.clock.now
        self._agents = [Agent(template, directory / name, kind) for name in ("a", "b")]
        self._hidden: list[int] = []  # who may differ, once it is published
        self._published = False  # that somebody differs

    async def compared(self, operations: Sequence[Operation]) -> Difference | None:
        """The first operation at which the views differ; None if they are the same to the end."""
        try:
            for number, operation in enumerate(operations):
                self._chance.event = number
                views = await self._views(operation)
                if views[0] != views[1]:
                    return Difference(operation, (views[0], views[1]))
                self._chance.clock.now = self._now
                self._published = self._published or self._differ()
            return None
        finally:
            for agent in self._agents:
                await agent.stop()
            self._chance.clock.now = self._began

    async def _views(self, operation: Operation) -> list[View]:
        """What happens to both agents at the same time; of an owner's doing, when it is over can be seen."""
        clock = self._chance.clock
        before = self._now = clock.now
        if isinstance(operation, Ask):
            return list(await asyncio.gather(*(self._asked(agent, operation) for agent in self._agents)))
        over = []
        for agent in self._agents:
            clock.now, self._chance.made = before, 0
            await self._happened(agent, operation)
            over.append(clock.now)
        self._now = max(over)
        return [[at] for at in over]

    async def _happened(self, agent: Agent, operation: Operation) -> None:
        match operation:
            case Happening(what):
                await agent.happen(what)
            case Wait(number):
                self._chance.clock.now += hours(number)
            case ChangeBoth(person):
                agent.change("value", person)
            case Change(way, person) if agent is self._agents[1]:
                self._hidden = agent.change(way, person)

    def _differ(self) -> bool:
        """Whether the owner has published two different tables, as the ledgers of both say."""
        opened = [agent.state._ledger.epoch for agent in self._agents if agent.state is not None]
        return len({None if one is None else one.records for one in opened}) > 1

    async def _asked(self, agent: Agent, ask: Ask) -> View:
        method, message = _message(ask, agent)
        for got in agent.uploaded:
            got.clear()
        answers, status = await agent.call(method, message, ask.caller)
        self._seen.methods[f"{method} of {ask.kind}"] += 1
        self._seen.reasons[reason_of(status)] += 1
        uploaded = [self._others(ask, block) for got in agent.uploaded for block in got]
        return [method, status, *self._answers(method, ask, answers, agent), *uploaded]

    def _answers(self, method: str, ask: Ask, answers: list[bytes], agent: Agent) -> View:
        if method == "Randomize":
            return self._reports(ask, answers)
        if method == "ContributeSealed":
            return [
                self._opened(ask, pb.ContributeSealedResponse.FromString(one), agent) for one in answers
            ]
        return list(answers)

    def _reports(self, ask: Ask, answers: list[bytes]) -> View:
        """The reports of everybody else, by message."""
        randomizer, lanes, view = ask.request().randomizer, list(ask.cohort.lanes()), View()
        for answer in map(pb.RandomizeResponse.FromString, answers):
            people, lanes = lanes[: answer.reports], lanes[answer.reports :]
            reports = np.asarray(randomizer.unpack(answer.packed, answer.reports))
            others = [place for place, person in enumerate(people) if not self._is_hidden(person)]
            self._note(reports[[place for place in range(len(people)) if place not in others]])
            view.append((answer.reports, len(answer.packed), reports[others].tobytes()))
        return view

    def _opened(self, ask: Ask, answer: pb.ContributeSealedResponse, agent: Agent) -> object:
        """A sealed message: who it is for, how long it is, and what others have in it.  The seal itself is coins."""
        server, upload = agent.servers[answer.server], answer.upload
        block = block_from_sealed(upload, server.name, server.sealing_key)
        return answer.server, upload.collection, upload.party, len(upload.sealed), self._others(ask, block)

    def _others(self, ask: Ask, block: ShareBlock) -> object:
        """The shares of everybody else; whoever differs may be in any block."""
        people = list(block.cohort.lanes())
        hidden = [self._published if ask.in_blocks else self._is_hidden(person) for person in people]
        others = ~np.array(hidden, np.bool_)
        rows, shapes = block.rows.take(others), (block.rows.public.shape, block.rows.inputs.shape)
        return (
            block.collection,
            block.party,
            block.cohort,
            shapes,
            rows.public.tobytes(),
            rows.inputs.tobytes(),
        )

    def _is_hidden(self, person: int) -> bool:
        return self._published and person in self._hidden

    def _note(self, own: Any) -> None:
        self._seen.own_reports[own.tobytes().hex()] += bool(own.size)


def _message(ask: Ask, agent: Agent) -> tuple[str, bytes]:
    """The method that is called, and its bytes."""
    call = _call(ask, agent)
    method: str = ask.kind
    message = call
    if ask.quote:
        about = {
            "Randomize": "randomize",
            "Contribute": "contribute",
            "ContributeSealed": "contribute_sealed",
        }
        method, message = "Quote", pb.QuoteRequest(**({about[ask.kind]: call} if ask.kind in about else {}))
    return method, b"\xff\xff\xff" if ask.spoilt else message.SerializeToString()


def _call(ask: Ask, agent: Agent) -> Any:
    if ask.kind == "Randomize":
        return codec.request_to_wire(ask.request(), ask.cohort)
    if ask.kind not in ("Contribute", "ContributeSealed"):
        return getattr(pb, f"{ask.kind}Request")()  # nothing is in it
    collection = _collection(ask, agent)
    for server in agent.servers:
        server.open(collection)
    kind = pb.ContributeRequest if ask.kind == "Contribute" else pb.ContributeSealedRequest
    return kind(collection=codec.collection_to_wire(collection), cohort=codec.cohort_to_wire(ask.cohort))


HARD_BLOCKS = (  # whether this has one solution, or many, depends on records
    f"slope(age, 1000000*smoker, 1000000*smoker) in [-3.0, 3.0] by {bytes(16).hex()}"
)


def _collection(ask: Ask, agent: Agent) -> Collection:
    """A count, of the query of the question where it is one that can be counted; or one of blocks of people."""
    collection_id = ask.number.to_bytes(16, "big")
    return Collection(
        collection_id=collection_id,
        query="value >= 0" if ask.in_blocks else ("smoker", "age >= 9", "weight")[ask.question % 3],
        blocks=HARD_BLOCKS if ask.in_blocks else "",
        encoding=Encoding.count(),
        epsilon=HALF,
        plan=NoisePlan.EACH_SERVER,
        servers=tuple(server.name for server in agent.servers),
        parties=(Contributor("clinic", PEOPLE),),
        minimum_batch=2 if ask.question % 5 else 1,
        binding=binding_of(agent.servers, collection_id),
        relayed=ask.kind == "ContributeSealed",
    )


def reason_of(status: bytes) -> str:
    """The reason in a status; empty if there is none."""
    info = error_details_pb2.ErrorInfo()
    for detail in status_pb2.Status.FromString(status).details if status != b"nobody there" else ():
        detail.Unpack(info)
    return str(info.reason)


async def first_difference(
    template: Path,
    directory: Path,
    chance: Chance,
    kind: type[AgentState],
    histories: Iterable[list[Operation]],
    seen: Seen,
) -> tuple[list[Operation], Difference] | None:
    """The first history that two agents of this kind do not live through alike, and where."""
    for operations in histories:
        directory.mkdir()
        try:
            found = await Pair(template, directory, chance, kind, seen).compared(operations)
        finally:
            shutil.rmtree(directory)
        if found is not None:
            return operations, found
    return None
