"""Every refusal of an agent, and what it is a function of: as data, complete against the errors of the library.

What stands here never names a record, nor whether one changed.  An error that an agent cannot make is named with who does:
a test looks for it in the modules that an agent is made of.  The same table stands in docs/threat-model.md.
"""

from __future__ import annotations

import ast
import functools
import inspect
from dataclasses import dataclass
from pathlib import Path

from localdp import errors

ROOT = Path(__file__).parents[2]
REQUEST = "the request"
RULES = "the owner's rules"
SCHEMA = "the schema"
PEOPLE = "how many people there are"
EPOCH = "the number of the open epoch"
CHARGES = "what was charged before"
KEPT = "what is still kept, by time and bytes"
KEYS = "which keys are left"
CALLER = "who calls"
WORK = "the work of this caller and of all"
LOAD = "the calls in progress"
DISK = "the machine"
SERVERS = "the share servers"
OWNER = "nothing that a caller asks: the owner sees it, at a command or a start"
PUBLIC = frozenset(
    {REQUEST, RULES, SCHEMA, PEOPLE, EPOCH, CHARGES, KEPT, KEYS, CALLER, WORK, LOAD, DISK, SERVERS, OWNER}
)


@dataclass(frozen=True)
class Refusal:
    """One kind of refusal."""

    error: type[errors.LocalDpError]
    when: str
    depends_on: tuple[str, ...]
    checked: str = ""  # where, if the histories do not come across it


# What an agent makes.
REFUSALS = (
    Refusal(
        errors.InvalidParameter,
        "the message, the query, the randomizer or the collection does not fit",
        (REQUEST, SCHEMA, PEOPLE, RULES),
    ),
    Refusal(errors.QueryRefused, "the query is malformed, or of other columns or kinds", (REQUEST, SCHEMA)),
    Refusal(errors.UnknownIndex, "the cohort has people who are not there", (REQUEST, PEOPLE)),
    Refusal(
        errors.PolicyRefused,
        "a rule of the owner's says no: caller, columns, cohort, batch, epsilon, requests in an epoch",
        (REQUEST, RULES, CALLER, CHARGES, EPOCH),
    ),
    Refusal(
        errors.BudgetExhausted,
        "somebody's budget, or this analyst's quota of it, is spent",
        (REQUEST, RULES, CHARGES, CALLER),
    ),
    Refusal(
        errors.ApprovalNeeded,
        "it waits for the owner's approval",
        (REQUEST, RULES, CALLER, CHARGES),
        "tests/unit/parties/agent/test_approval.py",
    ),
    Refusal(
        errors.RequestExpired,
        "its epoch has ended, or what was sent is no longer kept",
        (REQUEST, EPOCH, CHARGES, CALLER, KEPT),
    ),
    Refusal(errors.KeyRetired, "the key of its first answer was destroyed", (REQUEST, CHARGES, KEYS)),
    Refusal(
        errors.WorkRefused,
        "it is too much work, by itself or for this caller",
        (REQUEST, SCHEMA, RULES, WORK),
    ),
    Refusal(errors.Busy, "too much is in progress, or was done for all", (LOAD, WORK, RULES)),
    Refusal(
        errors.CertificateRevoked,
        "the caller's certificate was taken back",
        (CALLER,),
        "tests/integration/test_revocation.py",
    ),
    Refusal(
        errors.DeadlineMissed,
        "the caller has gone, or reads nothing",
        (REQUEST, LOAD),
        "tests/unit/parties/relay/test_relay_answering.py",
    ),
    Refusal(
        errors.Unreachable,
        "the agent is stopping, or a share server is away",
        (DISK, SERVERS),
        "tests/integration/test_shutdown.py",
    ),
    Refusal(
        errors.StorageFailed,
        "the disk is full, or a file of the agent's was replaced",
        (DISK,),
        "tests/unit/parties/agent/test_ledger_identity.py",
    ),
    Refusal(
        errors.RolledBack,
        "the ledger is an old copy",
        (OWNER, DISK),
        "tests/unit/parties/agent/test_ledger_mark.py",
    ),
    Refusal(
        errors.MalformedReport,
        "a share server could not read the shares",
        (SERVERS,),
        "tests/integration/test_sealed_shares.py",
    ),
    Refusal(
        errors.InvalidRecord,
        "a table cannot be published",
        (OWNER,),
        "tests/unit/parties/agent/test_publishing.py",
    ),
    Refusal(
        errors.TooFewReports,
        "a flooded round is of too few people, or of too many",
        (REQUEST,),
        "tests/unit/party/test_flooded_party.py",
    ),
    Refusal(errors.CannotListen, "the address is taken", (OWNER,), "tests/integration/test_serving.py"),
)
# What share servers and coordinators make.  `Contribute` passes a share server's refusal on.
MADE_ELSEWHERE = {
    errors.LocalDpError: "nobody: it stands for all others",
    errors.CollectionClosed: "a share server, of its own state",
    errors.UnknownCollection: "a share server, of its own state",
    errors.ShareMismatch: "a share server, of its own state",
    errors.ComputationAborted: "a share server, of what other servers said",
    errors.QuorumMissed: "a coordinator",
    errors.SignalTooWeak: "whoever asks, of a plan that is hopeless",
    errors.CoinsExhausted: "a source of coins in tests and simulations",
}


def errors_of_the_library() -> set[type[errors.LocalDpError]]:
    """All of them."""
    found = (value for value in vars(errors).values() if inspect.isclass(value))
    return {one for one in found if issubclass(one, errors.LocalDpError)}


def errors_made_by(module: str) -> set[str]:
    """The names of the errors that a module makes, or any module of this project that it is made of."""
    made, known, waiting = set[str](), set[str](), [module]
    while waiting:
        name = waiting.pop()
        path = _path(name)
        if path is not None and name not in known:
            known.add(name)
            imported, called = _read(path)
            waiting += imported
            made |= called
    return made & {one.__name__ for one in errors_of_the_library()}


@functools.cache
def _read(path: Path) -> tuple[list[str], set[str]]:
    """What a file imports, and what it calls."""
    tree = ast.parse(path.read_text())
    return _imported(tree), {_called(node) for node in ast.walk(tree) if isinstance(node, ast.Call)}


def _path(module: str) -> Path | None:
    place = ROOT / module.replace(".", "/")
    return next((one for one in (place.with_suffix(".py"), place / "__init__.py") if one.is_file()), None)


def _imported(tree: ast.Module) -> list[str]:
    """What is imported when the file is run: what is there for types alone is not."""
    found = []
    for node in (one for part in tree.body if not _is_for_types(part) for one in ast.walk(part)):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            found += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return found


def _is_for_types(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def _called(call: ast.Call) -> str:
    match call.func:
        case ast.Name(name) | ast.Attribute(attr=name):
            return name
    return ""
