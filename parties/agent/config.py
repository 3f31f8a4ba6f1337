"""An agent's configuration: one TOML file, read whole, with unknown keys refused and every refusal naming its key.

```toml
name = "north-hospital"

[data]
path = "patients.parquet"      # .csv, .tsv, .parquet, .arrow, .feather, .xlsx; or the last of visits-*.csv
separator = ";"                # of a text file (the comma of .csv, the tab of .tsv, if not given)
quote = '"'                    # of a text file
encoding = "utf-8"             # of a text file
header = 1                     # of a text file or a spreadsheet: the line in which the names of columns stand
comment = "#"                  # of a text file: what lines before the names begin with (none, if not given)
sheet = "Visits"               # of a spreadsheet (the first one, if not given)
# database = "postgresql://reader@db.example/clinic"  # in the place of path: a SQLAlchemy address without a password
# table = "visits"             # of a database; or a query, such as query = "SELECT ..."
# password_file = "clinic.pw"  # of a database: mode 600 (or LOCALDP_DATABASE_PASSWORD in the environment)
empty = ["-", "unknown"]       # texts that say nothing, in every column; a column may have its own
decimal = "."                  # the mark in numbers
thousands = ","                # the mark between thousands (none, if not given)
true = ["oui"]                 # further words of bits
false = ["non"]
alike = true                   # labels that differ by case or spaces alone are one, and people whose do by spaces around
person = "patient"             # the column that says whose row it is; without it every row is a person of its own
nobody = ["Total"]             # what stands in that column where a row is nobody's, such as a line of totals (optional)
rows = "together"              # where a person has several: "one" (refuse), "together", "sample" one, or charge for "each"
most_rows = 4                  # with "together": how many of them count; with "each": nobody has more
row = "visit"                  # with "together": what a row is called in queries, as in any(visit: died)
order = "stay"                 # with "together": a column of [schema] that orders the rows (as in the table, if not given)
fixed_order = false            # true, and no `person`: vouch that every row keeps its place when the table changes

[schema]
smoker = { kind = "bit" }
age = { kind = "integer", low = 0, high = 120 }
stay = { kind = "integer", low = 0, high = 61, column = "Length of stay", missing = 61 }  # as the table has it (optional)
weight = { kind = "real", low = 0, high = 300, unit = "kg", missing = 0, outside = "clip" }
ward = { kind = "category", labels = ["A", "B", "other"], recode = { "1" = "A" }, other = "other", missing = "other" }
born = { kind = "integer", low = 0, high = 120, date = "%d/%m/%Y", as = "years", until = 2024-12-31 }
old = { kind = "bit", formula = "born >= 65" }  # what stands in no table, in terms of what does

[epochs]
open = "by hand"               # when the table is read anew; or "daily 03:00", "weekly monday 03:00", "monthly 1 03:00"
keep_hours = 24                # how long an answer can be fetched again
keep_megabytes = 1024          # and how much is kept of all answers

[budget]
total = 10                     # nats that each person may spend in all
per_day = 1                    # and on one day (optional)

[quotas]                       # how much of each person's budget each analyst may use (whoever comes first, if not given)
analyst = 6                    # by the name in the certificate
others = 4                     # all who are not named, together (nothing, if not given)

[policy]
largest_epsilon = 1            # of one request
smallest_epsilon = 0.0001      # of one request
shuffler = "mixer"             # a shuffler whose requests may cost more, before they are mixed (nobody, if not given)
largest_epsilon_shuffled = 8   # and how much
largest_delta_flooded = 1e-6   # of a flooded round, in which nothing holds against that shuffler (none, if not given)
second_shuffler = "5f1c..."    # key of the second shuffler of such a round, in hexadecimal (any or none, if not given)
most_requests = 100000         # different requests in one epoch
most_requests_of_caller = 25000 # and of one caller
minimum_cohort = 100           # people in one request
minimum_batch = 100            # reports in one collection by share servers
columns = ["smoker", "age"]    # what may be asked about (all, if not given)
games = []                     # games of roads, as opening moves, that may look at further columns (docs/games.md)
estimators = ["mean", "median"] # what may be computed of blocks of people (whatever is known, if not given)
aggregators = ["analyst"]      # names in the certificates of those who may ask (anybody on loopback, if not given)
describe = "anybody"           # who is told what may be asked: anybody with a certificate, or "aggregators" alone
colluding_servers = 1          # share servers that may work with the analyst at no loss (all but one, if not given)
by_content = false             # true: the same question always has the same report, whoever asks it

[approval]                     # what waits until its owner has said yes (`localdp owner pending`; nothing, if not given)
columns = ["smoker"]           # questions about these columns
analysts = ["analyst"]         # questions of these analysts
questions = false              # true: every question

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
from dataclasses import replace
from pathlib import Path
from typing import get_args

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.quotas import Quotas
from localdp.domains.rows import MOST_ROWS
from localdp.domains.schema import NAME_RULE, is_column_name
from localdp.domains.spelling import suggestion
from localdp.errors import InvalidParameter, LocalDpError
from localdp.party.policy import Policy, opening_text
from parties.agent.answers import Keeping
from parties.agent.approval import ApprovalRules
from parties.agent.calendar import Calendar
from parties.agent.config_checks import ConfigChecks
from parties.agent.data import Rows
from parties.agent.declared import Declared, Together, declared_schema
from parties.agent.sections import Sections
from parties.agent.settings import AgentConfig, Dial, WitnessConfig
from parties.agent.source_section import nobody_of, shared_of, source_of
from parties.agent.work import WorkLimits
from parties.observability.logs import LEVELS
from parties.toml_file import TomlFile

__all__ = ["AgentConfig", "Dial", "WitnessConfig", "load_config"]

_SECTIONS = (
    *("name", "data", "schema", "epochs", "budget", "quotas", "policy", "approval", "work"),
    *("storage", "witness", "listen", "dial", "share_servers", "tls", "observe"),
)
_DAY_SECONDS = 86_400
_YEAR_HOURS = 8784.0
_PUBLIC_KEY = re.compile("[0-9a-f]{64}")


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
        most, person = self._most_rows(rows), read.take("data", "person", str, None)
        config = AgentConfig(
            name=self._name(),
            source=source_of(self._read),
            person=person,
            rows=rows,
            fixed_order=read.flag("data", "fixed_order"),
            declared=replace(self._schema(rows, most), nobody=nobody_of(read, person)),
            budget=read.epsilon("budget", "total"),
            budget_per_day=read.optional_epsilon("budget", "per_day"),
            quotas=self._quotas(),
            policy=self._policy(most if rows == "each" else 1, len(share_servers)),
            most_requests=read.count("policy", "most_requests", 100_000),
            most_requests_of_caller=read.count("policy", "most_requests_of_caller", 25_000),
            approval=self._approval(),
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
        return ConfigChecks(read).checked(config)

    def _refuse_unknown_sections(self) -> None:
        for key in self._read.table:
            if key not in _SECTIONS:
                known = f"a configuration has {', '.join(_SECTIONS)}"
                raise self._read.wrong(key, f"unknown{suggestion(key, _SECTIONS)}; {known}")

    def _policy(self, most_rows: int, servers: int) -> Policy:
        read = self._read
        describe = read.take("policy", "describe", str, "anybody")
        if describe not in ("anybody", "aggregators"):
            raise read.wrong("policy.describe", '"anybody" or "aggregators"')
        return Policy(
            largest_epsilon=read.epsilon("policy", "largest_epsilon", 1),
            smallest_epsilon=read.epsilon("policy", "smallest_epsilon", "0.0001"),
            shuffler=read.take("policy", "shuffler", str, None),
            largest_epsilon_shuffled=read.optional_epsilon("policy", "largest_epsilon_shuffled"),
            largest_delta_flooded=read.optional_delta("policy", "largest_delta_flooded"),
            second_key=self._public_key("policy", "second_shuffler"),
            minimum_cohort=read.count("policy", "minimum_cohort", 1),
            minimum_batch=read.count("policy", "minimum_batch", 2),
            columns=read.names("policy", "columns"),
            games=self._games(),
            estimators=read.names("policy", "estimators"),
            aggregators=read.names("policy", "aggregators"),
            by_content=read.flag("policy", "by_content"),
            colluding_servers=self._colluding(servers),
            private_description=describe == "aggregators",
            most_rows=most_rows,
        )

    def _games(self) -> frozenset[str]:
        """The opening moves in their one spelling."""
        try:
            return frozenset(map(opening_text, self._read.names("policy", "games") or ()))
        except LocalDpError as error:
            raise self._read.wrong("policy.games", str(error)) from None

    def _quotas(self) -> Quotas | None:
        table = self._read.table.get("quotas")
        if not isinstance(table, dict):
            return None
        limits = {name: self._read.epsilon("quotas", name) for name in list(table)}
        others = limits.pop("others", Epsilon(0))
        return Quotas(limits, others)

    def _approval(self) -> ApprovalRules:
        read, nothing = self._read, frozenset[str]()
        return ApprovalRules(
            read.names("approval", "columns") or nothing,
            read.names("approval", "analysts") or nothing,
            read.flag("approval", "questions"),
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
        return WitnessConfig(peer, self._public_key("witness", "public_key"))

    def _public_key(self, section: str, key: str) -> bytes | None:
        text = self._read.take(section, key, str, None)
        if text is not None and not _PUBLIC_KEY.fullmatch(text):
            raise self._read.wrong(f"{section}.{key}", "32 bytes in hexadecimal")
        return None if text is None else bytes.fromhex(text)

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

    def _schema(self, rows: Rows, most: int) -> Declared:
        def wrong(key: tuple[str, ...], why: str) -> InvalidParameter:
            return self._read.wrong(".".join(key), why)

        schema = self._read.table.pop("schema", None)
        return declared_schema(schema, wrong, shared_of(self._read), self._together(rows, most))

    def _together(self, rows: Rows, most: int) -> Together | None:
        read = self._read
        row, order = read.take("data", "row", str, None), read.take("data", "order", str, None)
        if rows != "together":
            if row is not None or order is not None:
                raise read.wrong(
                    f"data.{'row' if row is not None else 'order'}", 'goes with rows = "together"'
                )
            return None
        if row is not None and not is_column_name(row):
            raise read.wrong("data.row", f"what a row is called in queries, such as visit; {NAME_RULE}")
        if most > MOST_ROWS:
            raise read.wrong("data.most_rows", f"at most {MOST_ROWS}")
        return Together(row or "row", most, order)

    def _colluding(self, servers: int) -> int:
        strictest = max(0, servers - 1)
        value = self._read.take("policy", "colluding_servers", int, strictest)
        if not 0 <= value <= strictest:
            told = f"of {servers} share servers, 0 to {strictest}"
            raise self._read.wrong("policy.colluding_servers", told)
        return value

    def _most_rows(self, rows: str) -> int:
        given = "most_rows" in self._read.table.get("data", {})
        if given and rows not in ("each", "together"):
            raise self._read.wrong("data.most_rows", 'goes with rows = "each" or "together"')
        if rows in ("each", "together") and not given:
            told = f'needed with rows = "{rows}": the most rows of a person, such as most_rows = 4'
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
