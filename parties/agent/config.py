"""An agent's configuration: one TOML file, read whole, with unknown keys refused and every refusal naming its key.

```toml
name = "north-hospital"

[data]
path = "patients.parquet"      # .csv, .parquet, .arrow or .feather; relative to this file
person = "patient"             # the column that says whose row it is; without it every row is a person of its own
rows = "sample"                # where a person has several: "one" (refuse), "sample" one a request, or charge for "each"
most_rows = 4                  # with "each": nobody has more, and each row has this part of its owner's budget
fixed_order = false            # true, and no `person`: vouch that every row keeps its place when the table changes

[schema]
smoker = { kind = "bit" }
age = { kind = "integer", low = 0, high = 120 }
stay = { kind = "integer", low = 0, high = 61, column = "Length of stay", missing = 61 }  # as the table has it (optional)

[epochs]
open = "by hand"               # when the table is read anew; or "daily 03:00", "weekly monday 03:00", "monthly 1 03:00"
keep_hours = 24                # how long an answer can be fetched again
keep_megabytes = 1024          # and how much is kept of all answers

[budget]
total = 10                     # nats that each person may spend in all
per_day = 1                    # and on one day (optional)

[policy]
largest_epsilon = 1            # of one request
smallest_epsilon = 0.0001      # of one request
shuffler = "mixer"             # a shuffler whose requests may cost more, before they are mixed (nobody, if not given)
largest_epsilon_shuffled = 8   # and how much
most_requests = 100000         # different requests in one epoch
most_requests_of_caller = 25000 # and of one caller
minimum_cohort = 100           # people in one request
minimum_batch = 100            # reports in one collection by share servers
columns = ["smoker", "age"]    # what may be asked about (all, if not given)
aggregators = ["analyst"]      # names in the certificates of those who may ask (anybody on loopback, if not given)
describe = "anybody"           # who is told what may be asked: anybody with a certificate, or "aggregators" alone
colluding_servers = 1          # share servers that may work with the analyst at no loss (all but one, if not given)
by_content = false             # true: the same question always has the same report, whoever asks it

[work]
quantum_milliseconds = 10      # answers leave at times that are multiples of it, whatever the records say
request_seconds = 60           # of one core, for one request
caller_seconds = 600           # in an hour
total_seconds = 1800           # in an hour, for all callers

[storage]
directory = "state"            # the ledger, the secret keys and the copy of the records live here

[witness]                      # whoever countersigns the ledger, so that an old copy of all of it is noticed (optional)
address = "127.0.0.1:7300"
name = "auditor"               # whose certificate the witness must show; needed with [tls], and only there
public_key = "5f1c..."         # what it signs with, in hexadecimal (the one that it showed first, if not given)

[listen]
address = "127.0.0.1:0"        # where the agent is dialled; nowhere, if it dials and this is not given

[dial]                         # for an agent that nobody can reach: it dials, and is asked over the stream that it holds
coordinator = "127.0.0.1:7000"
name = "analyst"               # whose certificate the analyst must show; needed with [tls], and only there

[share_servers]
server-0 = "127.0.0.1:7001"
server-1 = "127.0.0.1:7002"

[tls]                          # needed wherever the address is not loopback
directory = "certificates"
revoked = "revoked.pem"        # certificates that are not good any more; read again when it changes (optional)

[observe]
log = "info"                   # off, error, warning (if not given), info, debug: JSON lines on standard error
metrics = "127.0.0.1:9464"     # where Prometheus reads; nowhere, if not given
```

Checked in tests/unit/parties/agent/test_agent_config.py.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, get_args

from localdp.accounting.epsilon import Epsilon
from localdp.domains import Schema
from localdp.domains.spelling import suggestion
from localdp.errors import InvalidParameter
from localdp.party.policy import Policy
from localdp.sharing.collection import operator_of
from parties.agent.answers import Keeping
from parties.agent.calendar import Calendar
from parties.agent.declared import Declared, declared_schema
from parties.agent.sections import Sections
from parties.agent.work import WorkLimits
from parties.identity import role_host
from parties.observability.logs import LEVELS
from parties.toml_file import TomlFile

Rows = Literal["one", "sample", "each"]
_SECTIONS = (
    *("name", "data", "schema", "epochs", "budget", "policy", "work"),
    *("storage", "witness", "listen", "dial", "share_servers", "tls", "observe"),
)
_DAY_SECONDS = 86_400
_YEAR_HOURS = 8784.0
_PUBLIC_KEY = re.compile("[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Dial:
    """Whom an agent dials, and the name in their certificate."""

    address: str
    name: str | None


@dataclass(frozen=True, slots=True)
class WitnessConfig:
    """Who countersigns the ledger."""

    peer: Dial
    public_key: bytes | None


@dataclass(frozen=True, slots=True)
class AgentConfig:
    """Everything that an agent is told by its owner."""

    name: str
    data: Path
    person: str | None
    rows: Rows
    fixed_order: bool
    declared: Declared  # the schema, and how its columns are read from the table
    budget: Epsilon
    budget_per_day: Epsilon | None
    policy: Policy
    storage: Path
    address: str | None  # where to listen
    calendar: Calendar | None = None  # None: epochs open by hand alone
    keeping: Keeping = field(default_factory=Keeping)
    work: WorkLimits = field(default_factory=WorkLimits)
    most_requests: int = 100_000  # in one epoch
    most_requests_of_caller: int = 25_000
    witness: WitnessConfig | None = None
    dial: Dial | None = None
    share_servers: Mapping[str, str] = field(default_factory=dict)
    tls: Path | None = None
    revoked: Path | None = None
    log: str = "warning"
    metrics: str | None = None  # where metrics are read

    @property
    def schema(self) -> Schema:
        """What may be asked about."""
        return self.declared.schema


def load_config(path: Path) -> AgentConfig:
    """Read and check a configuration file."""
    return _Reader(Sections(TomlFile(path))).config()


class _Reader:
    """Makes a configuration of the sections."""

    def __init__(self, sections: Sections) -> None:
        self._read = sections

    def config(self) -> AgentConfig:
        self._refuse_unknown_sections()
        read, share_servers = self._read, self._addresses()
        told = read.take("data", "rows", str, "one")
        rows: Rows | None = next((known for known in get_args(Rows) if known == told), None)
        if rows is None:
            raise read.wrong("data.rows", f"one of {', '.join(get_args(Rows))}")
        config = AgentConfig(
            name=self._name(),
            data=read.beside(read.take("data", "path", str)),
            person=read.take("data", "person", str, None),
            rows=rows,
            fixed_order=read.flag("data", "fixed_order"),
            declared=self._schema(),
            budget=read.epsilon("budget", "total"),
            budget_per_day=read.optional_epsilon("budget", "per_day"),
            policy=self._policy(rows, len(share_servers)),
            most_requests=read.count("policy", "most_requests", 100_000),
            most_requests_of_caller=read.count("policy", "most_requests_of_caller", 25_000),
            calendar=self._calendar(),
            keeping=self._keeping(),
            work=self._work(),
            storage=read.beside(read.take("storage", "directory", str, "state")),
            address=read.address("listen", "address", None if "dial" in read.table else "127.0.0.1:0"),
            witness=self._witness(),
            dial=self._peer("dial", "coordinator"),
            share_servers=share_servers,
            tls=read.optional_path("tls", "directory"),
            revoked=read.optional_path("tls", "revoked"),
            log=self._level(),
            metrics=read.address("observe", "metrics", None),
        )
        read.refuse_leftovers()
        return _Checks(read).checked(config)

    def _refuse_unknown_sections(self) -> None:
        for key in self._read.table:
            if key not in _SECTIONS:
                known = f"a configuration has {', '.join(_SECTIONS)}"
                raise self._read.wrong(key, f"unknown{suggestion(key, _SECTIONS)}; {known}")

    def _policy(self, rows: str, servers: int) -> Policy:
        read = self._read
        describe = read.take("policy", "describe", str, "anybody")
        if describe not in ("anybody", "aggregators"):
            raise read.wrong("policy.describe", '"anybody" or "aggregators"')
        return Policy(
            largest_epsilon=read.epsilon("policy", "largest_epsilon", 1),
            smallest_epsilon=read.epsilon("policy", "smallest_epsilon", "0.0001"),
            shuffler=read.take("policy", "shuffler", str, None),
            largest_epsilon_shuffled=read.optional_epsilon("policy", "largest_epsilon_shuffled"),
            minimum_cohort=read.count("policy", "minimum_cohort", 1),
            minimum_batch=read.count("policy", "minimum_batch", 2),
            columns=read.names("policy", "columns"),
            aggregators=read.names("policy", "aggregators"),
            by_content=read.flag("policy", "by_content"),
            colluding_servers=self._colluding(servers),
            private_description=describe == "aggregators",
            most_rows=self._most_rows(rows),
        )

    def _calendar(self) -> Calendar | None:
        try:
            return Calendar.parse(self._read.take("epochs", "open", str, "by hand"))
        except InvalidParameter as error:
            raise self._read.wrong("epochs.open", str(error)) from None

    def _keeping(self) -> Keeping:
        hours = self._read.number("epochs", "keep_hours", 24, _YEAR_HOURS)
        megabytes = self._read.number("epochs", "keep_megabytes", 1024, 1 << 20)
        return Keeping(int(hours * 3600), int(megabytes * (1 << 20)))

    def _work(self) -> WorkLimits:
        usual = WorkLimits()

        def number(key: str, default: float, most: float = _DAY_SECONDS) -> float:
            value = self._read.number("work", key, default, most)
            if value == 0 and key != "quantum_milliseconds":
                raise self._read.wrong(f"work.{key}", "a number above 0")
            return value

        return replace(
            usual,
            quantum_seconds=number("quantum_milliseconds", usual.quantum_seconds * 1000, 1000) / 1000,
            request_seconds=number("request_seconds", usual.request_seconds),
            caller_seconds=number("caller_seconds", usual.caller_seconds),
            total_seconds=number("total_seconds", usual.total_seconds),
        )

    def _witness(self) -> WitnessConfig | None:
        peer = self._peer("witness", "address")
        if peer is None:
            return None
        text = self._read.take("witness", "public_key", str, None)
        if text is not None and not _PUBLIC_KEY.fullmatch(text):
            raise self._read.wrong("witness.public_key", "32 bytes in hexadecimal")
        return WitnessConfig(peer, None if text is None else bytes.fromhex(text))

    def _peer(self, section: str, key: str) -> Dial | None:
        if section not in self._read.table:
            return None
        address = self._read.address(section, key)
        assert address is not None
        return Dial(address, self._read.take(section, "name", str, None))

    def _name(self) -> str:
        name = self._read.table.get("name")
        if not isinstance(name, str) or not 0 < len(name) <= 128:
            raise self._read.wrong("name", "a text of 1 to 128 characters")
        return name

    def _schema(self) -> Declared:
        schema = self._read.table.pop("schema", None)
        return declared_schema(schema, lambda key, why: self._read.wrong(".".join(key), why))

    def _colluding(self, servers: int) -> int:
        strictest = max(0, servers - 1)
        value = self._read.take("policy", "colluding_servers", int, strictest)
        if not 0 <= value <= strictest:
            told = f"of {servers} share servers, 0 to {strictest}"
            raise self._read.wrong("policy.colluding_servers", told)
        return value

    def _most_rows(self, rows: str) -> int:
        given = "most_rows" in self._read.table.get("data", {})
        if given and rows != "each":
            raise self._read.wrong("data.most_rows", 'goes with rows = "each"')
        if rows == "each" and not given:
            told = 'needed with rows = "each": the most rows that a person has, such as most_rows = 4'
            raise self._read.wrong("data.most_rows", told)
        return self._read.count("data", "most_rows", 1)

    def _addresses(self) -> dict[str, str]:
        table = self._read.table.pop("share_servers", {})
        if not isinstance(table, dict) or not all(isinstance(value, str) for value in table.values()):
            raise self._read.wrong("share_servers", 'lines such as server-0 = "127.0.0.1:7001"')
        return dict(table)

    def _level(self) -> str:
        level = self._read.take("observe", "log", str, "warning")
        if level not in LEVELS:
            raise self._read.wrong("observe.log", f"one of {', '.join(LEVELS)}")
        return level


class _Checks:
    """What has to fit together."""

    def __init__(self, sections: Sections) -> None:
        self._read = sections

    def checked(self, config: AgentConfig) -> AgentConfig:
        unknown = sorted((config.policy.columns or frozenset()) - set(config.schema.names))
        if unknown:
            raise self._wrong("policy.columns", f"{unknown[0]!r} is not a column of the schema")
        self._check_people(config)
        self._check_shuffler(config.policy)
        if config.tls is not None:
            self._check_role("name", operator_of(config.name))
            for server in config.share_servers:
                self._check_role(f"share_servers.{server}", server)
        if config.dial is not None:
            self._check_peer("dial", config.dial, config)
        if config.witness is not None:
            self._check_peer("witness", config.witness.peer, config)
        dialled, named = config.dial and config.dial.name, config.policy.aggregators
        if dialled is not None and named is not None and dialled not in named:
            raise self._wrong("dial.name", "is not one of policy.aggregators: nothing would be answered")
        return config

    def _check_people(self, config: AgentConfig) -> None:
        if config.rows != "one" and config.person is None:
            raise self._wrong("data.person", f"needed when rows = {config.rows!r}: it says whose row it is")
        filled = None if config.person is None else config.declared.filled_from(config.person)
        if filled is not None:
            raise self._wrong(
                f"schema.{filled}.missing",
                "does not go with the column of data.person: an empty cell there is refused",
            )
        if config.fixed_order and config.person is not None:
            raise self._wrong("data.fixed_order", "goes without data.person, by which people are known")

    def _check_shuffler(self, policy: Policy) -> None:
        if (policy.shuffler is None) is not (policy.largest_epsilon_shuffled is None):
            raise self._wrong(
                "policy.shuffler",
                "goes with policy.largest_epsilon_shuffled: who may ask for more, and how much",
            )
        if policy.smallest_epsilon > policy.largest_epsilon:
            raise self._wrong("policy.smallest_epsilon", "is more than policy.largest_epsilon")

    def _check_peer(self, section: str, peer: Dial, config: AgentConfig) -> None:
        if (peer.name is None) is not (config.tls is None):
            whose = "analyst" if section == "dial" else section
            told = f"goes with [tls]: it is the name in the {whose}'s certificate"
            raise self._wrong(f"{section}.name", told)
        if peer.name is not None:
            self._check_role(f"{section}.name", peer.name)

    def _check_role(self, key: str, name: str) -> None:
        """What has to stand in a certificate can stand there."""
        try:
            role_host(name)
        except InvalidParameter as error:
            raise self._wrong(key, str(error)) from None

    def _wrong(self, key: str, reason: str) -> InvalidParameter:
        return self._read.wrong(key, reason)
