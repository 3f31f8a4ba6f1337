"""An agent's configuration: one TOML file, read whole, with unknown keys refused and every refusal naming its key.

```toml
name = "north-hospital"

[data]
path = "patients.parquet"      # .csv, .parquet, .arrow or .feather; relative to this file
person = "patient"             # the column that says whose row it is; without it every row is a person of its own
rows = "sample"                # where a person has several: "one" (refuse), "sample" one a request, or charge for "each"
most_rows = 4                  # with "each": nobody has more, and each row has this part of its owner's budget (optional)
fixed_order = false            # true, and no `person`: vouch that every row keeps its place when the table changes

[schema]
smoker = { kind = "bit" }
age = { kind = "integer", low = 0, high = 120 }
stay = { kind = "integer", low = 0, high = 61, column = "Length of stay", missing = 61 }  # as the table has it (optional)

[budget]
total = 10                     # nats that each person may spend in all
per_day = 1                    # and on one day (optional)

[policy]
largest_epsilon = 1            # of one request
minimum_cohort = 100           # people in one request
minimum_batch = 100            # reports in one collection by share servers
columns = ["smoker", "age"]    # what may be asked about (all, if not given)
aggregators = ["analyst"]      # names in the certificates of those who may ask (anybody on loopback, if not given)
colluding_servers = 1          # share servers that may work with the collector at no loss (all but one, if not given)
by_content = false             # true: the same question always has the same report, whoever asks it

[storage]
directory = "state"            # the ledger and the secret key live here

[listen]
address = "127.0.0.1:0"        # where the agent is dialled; nowhere, if it dials and this is not given

[dial]                         # for an agent that nobody can reach: it dials, and is asked over the stream that it holds
coordinator = "127.0.0.1:7000"
name = "analyst"               # whose certificate the coordinator must show; needed with [tls], and only there

[share_servers]
server-0 = "127.0.0.1:7001"
server-1 = "127.0.0.1:7002"

[tls]                          # needed wherever the address is not loopback
directory = "certificates"

[observe]
log = "info"                   # off, error, warning (if not given), info, debug: JSON lines on standard error
metrics = "127.0.0.1:9464"     # where Prometheus reads; nowhere, if not given
```

Checked in tests/unit/parties/test_agent_config.py.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from localdp.accounting.epsilon import Epsilon
from localdp.domains import Schema
from localdp.domains.spelling import suggestion
from localdp.errors import InvalidParameter
from localdp.sharing.collection import operator_of
from parties.agent.declared import Declared, declared_schema
from parties.identity import role_host
from parties.observability.logs import LEVELS

Rows = Literal["one", "sample", "each"]
_SECTIONS = {
    "name": str,
    "data": dict,
    "schema": dict,
    "budget": dict,
    "policy": dict,
    "storage": dict,
    "listen": dict,
    "dial": dict,
    "share_servers": dict,
    "tls": dict,
    "observe": dict,
}
_EXAMPLES = {  # of what has no default
    ("data", "path"): 'path = "patients.csv"',
    ("budget", "total"): "total = 10",
    ("dial", "coordinator"): 'coordinator = "coordinator.example:7100"',
    ("tls", "directory"): 'directory = "keys/north"',
}
_LARGEST_FILE_BYTES = 1 << 20
_ADDRESS = re.compile(r"[^\s/]+:[0-9]{1,5}")


@dataclass(frozen=True, slots=True)
class Dial:
    """The coordinator that an agent dials, and the name in its certificate."""

    coordinator: str
    name: str | None


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
    largest_epsilon: Epsilon
    minimum_cohort: int
    minimum_batch: int
    columns: frozenset[str] | None
    aggregators: frozenset[str] | None
    by_content: bool
    storage: Path
    address: str | None  # where to listen
    dial: Dial | None = None
    share_servers: Mapping[str, str] = field(default_factory=dict)
    tls: Path | None = None
    log: str = "warning"
    metrics: str | None = None  # where metrics are read
    colluding_servers: int = 0
    most_rows: int | None = None  # of one person, each of which has the same share of the budget

    @property
    def schema(self) -> Schema:
        """What may be asked about."""
        return self.declared.schema


def load_config(path: Path) -> AgentConfig:
    """Read and check a configuration file."""
    if path.stat().st_size > _LARGEST_FILE_BYTES:
        raise InvalidParameter(f"{path}: a configuration is at most {_LARGEST_FILE_BYTES} bytes long")
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidParameter(f"{path}: not a TOML file: {error}") from error
    return _Reader(path, table).config()


class _Reader:
    """Takes keys out of the table one by one, so that what is left over is unknown."""

    def __init__(self, path: Path, table: dict[str, Any]) -> None:
        self._path = path
        self._table = table
        self._known: dict[str, list[str]] = {}  # what was looked for, by section

    def config(self) -> AgentConfig:
        for key in self._table:
            if key not in _SECTIONS:
                known = f"a configuration has {', '.join(_SECTIONS)}"
                raise self._wrong(key, f"unknown{suggestion(key, _SECTIONS)}; {known}")
        person = self._take("data", "person", str, None)
        rows = self._take("data", "rows", str, "one")
        if rows not in get_args(Rows):
            raise self._wrong("data.rows", f"one of {', '.join(get_args(Rows))}")
        share_servers = self._addresses()
        config = AgentConfig(
            name=self._name(),
            data=self._beside(self._take("data", "path", str)),
            person=person,
            rows=rows,
            fixed_order=self._flag("data", "fixed_order"),
            declared=self._schema(),
            budget=self._epsilon("budget", "total"),
            budget_per_day=self._epsilon("budget", "per_day", None),
            largest_epsilon=self._epsilon("policy", "largest_epsilon", 10),
            minimum_cohort=self._count("policy", "minimum_cohort", 1),
            minimum_batch=self._count("policy", "minimum_batch", 2),
            columns=self._names("policy", "columns"),
            aggregators=self._names("policy", "aggregators"),
            by_content=self._flag("policy", "by_content"),
            storage=self._beside(self._take("storage", "directory", str, "state")),
            address=self._address("listen", "address", None if "dial" in self._table else "127.0.0.1:0"),
            dial=self._dial(),
            share_servers=share_servers,
            tls=self._optional_path("tls", "directory"),
            log=self._level(),
            metrics=self._address("observe", "metrics", None),
            colluding_servers=self._colluding(len(share_servers)),
            most_rows=self._most_rows(rows),
        )
        self._refuse_leftovers()
        return self._checked(config)

    def _checked(self, config: AgentConfig) -> AgentConfig:
        unknown = sorted((config.columns or frozenset()) - set(config.schema.names))
        if unknown:
            raise self._wrong("policy.columns", f"{unknown[0]!r} is not a column of the schema")
        if config.rows != "one" and config.person is None:
            raise self._wrong("data.person", f"needed when rows = {config.rows!r}: it says whose row it is")
        filled = None if config.person is None else config.declared.filled_from(config.person)
        if filled is not None:
            raise self._wrong(
                f"schema.{filled}.missing",
                "does not go with the column of data.person: whose row it is is never made up",
            )
        if config.fixed_order and config.person is not None:
            raise self._wrong("data.fixed_order", "goes without data.person, by which people are known")
        if config.tls is not None:
            self._check_role("name", operator_of(config.name))
            for server in config.share_servers:
                self._check_role(f"share_servers.{server}", server)
        if config.dial is not None:
            self._check_dial(config, config.dial)
        return config

    def _check_dial(self, config: AgentConfig, dial: Dial) -> None:
        if (dial.name is None) is not (config.tls is None):
            raise self._wrong(
                "dial.name", "goes with [tls]: it is the name in the coordinator's certificate"
            )
        if dial.name is None:
            return
        if config.aggregators is not None and dial.name not in config.aggregators:
            raise self._wrong("dial.name", "is not one of policy.aggregators: nothing would be answered")
        self._check_role("dial.name", dial.name)

    def _check_role(self, key: str, name: str) -> None:
        """What has to stand in a certificate can stand there."""
        try:
            role_host(name)
        except InvalidParameter as error:
            raise self._wrong(key, str(error)) from None

    def _take(self, section: str, key: str, kind: type[Any], *default: Any) -> Any:
        table = self._table.get(section, {})
        if not isinstance(table, dict):
            raise self._wrong(section, "a section, written as [" + section + "]")
        self._known.setdefault(section, []).append(key)
        if key not in table:
            if default:
                return default[0]
            raise self._missing(section, key, table)
        value = table.pop(key)
        if not isinstance(value, kind) or isinstance(value, bool):
            raise self._wrong(f"{section}.{key}", f"expected {kind.__name__}")
        return value

    def _missing(self, section: str, key: str, table: dict[str, Any]) -> InvalidParameter:
        for other in table:  # is it there under another name?
            if meant := suggestion(other, [key]):
                return self._wrong(f"{section}.{other}", f"unknown{meant}")
        return self._wrong(
            f"{section}.{key}", f"missing; write {_EXAMPLES[section, key]} under [{section}]"
        )

    def _name(self) -> str:
        name = self._table.get("name")
        if not isinstance(name, str) or not 0 < len(name) <= 128:
            raise self._wrong("name", "a text of 1 to 128 characters")
        return name

    def _schema(self) -> Declared:
        return declared_schema(
            self._table.pop("schema", None), lambda key, why: self._wrong(".".join(key), why)
        )

    def _epsilon(self, section: str, key: str, *default: Any) -> Any:
        value = self._take(section, key, object, *default)
        if value is None:
            return None
        try:
            return Epsilon.requested(value if isinstance(value, int | float | str) else str(value))
        except InvalidParameter as error:
            raise self._wrong(f"{section}.{key}", str(error)) from None

    def _count(self, section: str, key: str, default: int) -> int:
        value: int = self._take(section, key, int, default)
        if not 1 <= value <= 1 << 32:
            raise self._wrong(f"{section}.{key}", "a whole number from 1 on")
        return value

    def _colluding(self, servers: int) -> int:
        strictest = max(0, servers - 1)
        value: int = self._take("policy", "colluding_servers", int, strictest)
        if not 0 <= value <= strictest:
            raise self._wrong("policy.colluding_servers", f"of {servers} share servers, 0 to {strictest}")
        return value

    def _most_rows(self, rows: str) -> int | None:
        if "most_rows" not in self._table.get("data", {}):
            return None
        if rows != "each":
            raise self._wrong("data.most_rows", 'goes with rows = "each"')
        return self._count("data", "most_rows", 1)

    def _flag(self, section: str, key: str) -> bool:
        table = self._table.get(section, {})
        self._known.setdefault(section, []).append(key)
        value = table.pop(key, False) if isinstance(table, dict) else False
        if not isinstance(value, bool):
            raise self._wrong(f"{section}.{key}", "true or false")
        return value

    def _names(self, section: str, key: str) -> frozenset[str] | None:
        values = self._take(section, key, list, None)
        if values is None:
            return None
        if not all(isinstance(value, str) for value in values):
            raise self._wrong(f"{section}.{key}", "a list of texts")
        return frozenset(values)

    def _address(self, section: str, key: str, *default: str | None) -> str | None:
        value: str | None = self._take(section, key, str, *default)
        if value is not None and not _ADDRESS.fullmatch(value):
            raise self._wrong(f"{section}.{key}", "a host and a port, such as 127.0.0.1:7000")
        return value

    def _dial(self) -> Dial | None:
        if "dial" not in self._table:
            return None
        coordinator = self._address("dial", "coordinator")
        assert coordinator is not None
        return Dial(coordinator, self._take("dial", "name", str, None))

    def _addresses(self) -> dict[str, str]:
        table = self._table.pop("share_servers", {})
        if not isinstance(table, dict) or not all(isinstance(value, str) for value in table.values()):
            raise self._wrong("share_servers", 'lines such as server-0 = "127.0.0.1:7001"')
        return dict(table)

    def _level(self) -> str:
        level: str = self._take("observe", "log", str, "warning")
        if level not in LEVELS:
            raise self._wrong("observe.log", f"one of {', '.join(LEVELS)}")
        return level

    def _optional_path(self, section: str, key: str) -> Path | None:
        value = self._take(section, key, str, None)
        return None if value is None else self._beside(value)

    def _beside(self, text: str) -> Path:
        return self._path.parent / text

    def _refuse_leftovers(self) -> None:
        for section, table in self._table.items():
            for key in table if isinstance(table, dict) else ():
                known = self._known.get(section, [])
                told = f"unknown{suggestion(key, known)}; [{section}] has {', '.join(known)}"
                raise self._wrong(f"{section}.{key}", told)

    def _wrong(self, key: str, reason: str) -> InvalidParameter:
        return InvalidParameter(f"{self._path}: {key}: {reason}")
