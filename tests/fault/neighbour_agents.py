"""An agent as its owner has it, with all of its files, whose handlers are called in this process.

Its parts are the real ones: configuration, table, `publish`, `AgentState`, `AgentService` with its admission.  A call goes
through the handlers that a server registers, from bytes to bytes.  Share servers are objects beside it.  A kill is a copy
of the state directory as it is on the disk, from which a new agent starts.

Keys, identifiers of epochs and the clock come from the test, so that two agents toss the same coins.
"""

from __future__ import annotations

import csv
import functools
import json
import shutil
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import grpc
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.errors import LocalDpError
from localdp.framing import digest
from localdp.sharing.blocks import ShareBlock
from localdp.sharing.share_server import ShareServer
from parties.agent.answers import KeptAnswers
from parties.agent.config import AgentConfig, load_config
from parties.agent.ledger import SqliteLedger
from parties.agent.secret_file import FILE_NAME, rotate_secrets
from parties.agent.service import SERVICE_NAME, AgentService
from parties.agent.state import AgentState, init_storage, publish, publish_by_calendar
from parties.relay.answering import Methods
from parties.relay.context import RelayedContext
from tests.fault.neighbours import PEOPLE
from tests.support.federations import share_servers_of
from tests.support.ledgers import Ticking

_HOUR = 3600
_LOWERED = Epsilon.requested("0.75")
_CONFIG = """
name = "clinic"
[data]
path = "patients.csv"
{data}
[schema]
smoker = {{ kind = "bit" }}
age = {{ kind = "integer", low = 0, high = 20 }}
ward = {{ kind = "category", labels = ["a", "b", "c"] }}
[epochs]
open = "daily 03:00"
keep_hours = 24
{epochs}
[budget]
{budget}
[policy]
largest_epsilon = 1
smallest_epsilon = 0.01
most_requests = 5
aggregators = ["analyst", "auditor"]
{policy}
[work]
quantum_milliseconds = 0
request_seconds = 0.02
caller_seconds = 0.03
total_seconds = 0.04
[share_servers]
{servers}
"""


@dataclass(frozen=True)
class Shape:
    """A configuration, a table, and the ways in which a record of it can change."""

    name: str
    data: str = 'person = "patient"'
    rows_each: int = 1
    epochs: str = ""
    budget: str = "total = 1"
    policy: str = ""
    ways: tuple[str, ...] = ("value",)


SAMPLE, EACH = 'person = "patient"\nrows = "sample"', 'person = "patient"\nrows = "each"\nmost_rows = 3'
SHAPES = (
    Shape("by person"),
    Shape("by place", data="fixed_order = true"),
    Shape("by place, not vouched for", data=""),
    Shape("by content", policy="by_content = true"),
    Shape(
        "strict",
        policy='minimum_cohort = 3\ncolumns = ["smoker", "ward"]',
        budget="total = 1\nper_day = 0.5",
    ),
    Shape("little kept", epochs="keep_megabytes = 0.00001"),
    Shape("one of two rows", data=SAMPLE, rows_each=2, ways=("value", "row more", "row less", "owner")),
    Shape("one of one row", data=SAMPLE, ways=("value", "row more")),
    Shape(
        "each row",
        data=EACH,
        rows_each=2,
        budget="total = 3",
        policy="minimum_cohort = 2",
        ways=("value", "owner", "owner"),
    ),
)


@dataclass
class Chance:
    """What two agents share: the time, the identifiers of epochs, and the keys that they rotate to."""

    clock: Ticking = field(default_factory=Ticking)
    event: int = 0
    made: int = 0

    def identifier(self) -> bytes:
        """The next identifier of this event."""
        self.made += 1
        return digest(b"epoch", b"%d %d" % (self.event, self.made))[:16]

    def install(self, patch: pytest.MonkeyPatch) -> None:
        """Take the place of the operating system."""
        patch.setitem(SqliteLedger.__init__.__kwdefaults__ or {}, "clock", self.clock)
        patch.setattr(KeptAnswers.__init__, "__defaults__", (None, self.clock))
        patch.setattr("parties.agent.epochs.new_identifier", self.identifier)
        patch.setattr("parties.agent.state.time", self.clock)
        patch.setattr("parties.agent.service.upload", _handed_over)
        # The time that reading a message takes is counted as it is, before a record is looked at: here it takes none.
        patch.setattr("parties.agent.desk.time.perf_counter", lambda: 0.0)


@dataclass(frozen=True)
class Handing:
    """Stands where a channel to a share server would."""

    server: ShareServer
    got: list[ShareBlock]


async def _handed_over(
    channels: Sequence[Handing],
    blocks: AsyncIterator[list[ShareBlock]],
    timeout_seconds: float,
    heard: Callable[[int], None],
) -> list[int]:
    """`upload` to share servers of this process."""
    counted = [0] * len(channels)
    async for row in blocks:
        for place, (channel, block) in enumerate(zip(channels, row, strict=True)):
            channel.got.append(block)
            counted[place] += channel.server.accept(block)
    for place in range(len(channels)):
        heard(place)
    return counted


class Agent:
    """One agent, its owner and its machine."""

    def __init__(self, template: Path, directory: Path, kind: type[AgentState] = AgentState) -> None:
        shutil.copytree(template, directory)
        self._kind, self._lives, self._lost = kind, 0, False
        self.config = _config_in(directory)
        with self.config.data.open() as file:
            self._header, *self._rows = list(csv.reader(file))
        self.servers = share_servers_of(2)
        self.uploaded: list[list[ShareBlock]] = [[], []]
        self.state: AgentState | None = None
        self.start()

    def start(self) -> None:
        """Start; an agent that refuses to is away for its callers."""
        try:
            self.state = self._kind(self.config)
        except LocalDpError:
            return
        self._service = AgentService(
            self.state.party,
            self.config.share_servers,
            limits=self.config.work,
            kept=self.state.answers,
            refresh=self.state.refresh,
        )
        channels = map(Handing, self.servers, self.uploaded)
        self._service._channels = dict(zip(self.config.share_servers, channels, strict=True))  # type: ignore[arg-type]
        self._methods = Methods.of(self._service.register)

    async def stop(self) -> None:
        """End in an orderly way."""
        if self.state is not None:
            self._service._channels = {}
            await self._service.close()
            self.state.close()
            self.state = None

    async def call(self, method: str, message: bytes, caller: str) -> tuple[list[bytes], bytes]:
        """The messages that come back, and the status that they end with."""
        if self.state is None:
            return [], b"nobody there"
        context: Any = RelayedContext(caller, None)
        handler, answers = self._methods[f"/{SERVICE_NAME}/{method}"], []
        with suppress(grpc.aio.AbortError):
            if handler.response_streaming:
                async for one in handler.unary_stream(message, context):
                    answers.append(handler.response_serializer(one))  # noqa: PERF401 - those before a refusal count
            else:
                answers.append(handler.response_serializer(await handler.unary_unary(message, context)))
        here = str(self.config.data.parent).encode()  # a text may name a file, as the owner's do
        return answers, context.status.replace(here, b"*" * len(here))

    async def happen(self, what: str) -> None:
        """Something of the owner's or of the machine's."""
        match what:
            case "publish":
                self._try(publish)
            case "calendar":
                self._try(publish_by_calendar)
            case "restart":
                await self._again()
            case "kill":
                await self._killed()
            case "rotate":
                await self._again(functools.partial(_rotated, self.config.storage))
            case "retire":
                await self._again(functools.partial(_retired, self.config.storage))
            case "lower":
                self.config = replace(self.config, budget=_LOWERED)
                await self._again()
            case "lose table":
                self._lost = True
                self.config.data.write_text("what is this")

    def change(self, way: str, person: int) -> list[int]:
        """Another table: a person's record changed.  Returns who may report something else then."""
        person %= len({row[0] for row in self._rows}) - (way != "value")
        own = [place for place, row in enumerate(self._rows) if row[0] == f"p{person}"]
        place = own[-1]
        self._rows[place : place + 1] = _changed(self._rows[place], way, person)
        if not self._lost:
            _write(self.config.data, [self._header, *self._rows])
        if self.config.rows == "each":
            return [] if way == "owner" else [place]  # rows answer as they did, whoever's they are
        return [person, person + 1] if way == "owner" else [person]

    def _try(self, publication: Callable[[AgentConfig], object]) -> None:
        with suppress(LocalDpError):
            publication(self.config)

    async def _again(self, between: Callable[[], None] = lambda: None) -> None:
        await self.stop()
        between()
        self.start()

    async def _killed(self) -> None:
        self._lives += 1
        storage = self.config.storage.with_name(f"state-{self._lives}")
        shutil.copytree(self.config.storage, storage)
        await self.stop()
        self.config = replace(self.config, storage=storage)
        self.start()


def _changed(row: list[str], way: str, person: int) -> list[list[str]]:
    """What stands in the table in place of a row."""
    name, smoker, age, ward = row
    match way:
        case "row more":
            return [row, [name, str(smoker != "True"), age, ward]]
        case "row less":
            return []
        case "owner":
            return [[f"p{person + 1}", smoker, age, ward]]
        case _:
            return [[name, str(smoker != "True"), str(20 - int(age)), "abca"["abc".index(ward) + 1]]]


def _rotated(storage: Path) -> None:
    """A new key; it follows from the name, as it has to be the same in two directories."""
    made = json.loads((storage / FILE_NAME).read_text())
    rotate_secrets(storage)
    path = storage / FILE_NAME
    data = json.loads(path.read_text())
    data["keys"][data["current"]] = digest(b"key", bytes.fromhex(made["keys"][made["current"]])).hex()
    path.write_text(json.dumps(data))


def _retired(storage: Path) -> None:
    """A new key, and every other one is destroyed."""
    _rotated(storage)
    path = storage / FILE_NAME
    data = json.loads(path.read_text())
    data["keys"] = {data["current"]: data["keys"][data["current"]]}
    path.write_text(json.dumps(data))


def template_of(shape: Shape, directory: Path) -> Path:
    """A new agent of this shape, which nobody has asked yet."""
    rows = [
        [
            f"p{person}",
            str((person + row) % 2 == 0),
            str((7 * person + 3 * row) % 21),
            "abc"[(person + row) % 3],
        ]
        for person in range(PEOPLE // shape.rows_each if "each" in shape.name else PEOPLE)
        for row in range(shape.rows_each)
    ]
    directory.mkdir()
    _write(directory / "patients.csv", [["patient", "smoker", "age", "ward"], *rows])
    keys = [server.sealing_key.public.hex() for server in share_servers_of(2)]
    servers = "\n".join(f'server-{number} = "127.0.0.1:1#{key}"' for number, key in enumerate(keys))
    parts = {"data": shape.data, "epochs": shape.epochs, "budget": shape.budget, "policy": shape.policy}
    (directory / "agent.toml").write_text(_CONFIG.format(servers=servers, **parts))
    init_storage(_config_in(directory))
    return directory


def hours(number: float) -> float:
    """In seconds."""
    return number * _HOUR


def _config_in(directory: Path) -> AgentConfig:
    return load_config(directory / "agent.toml")


def _write(path: Path, rows: list[list[str]]) -> None:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(rows)
