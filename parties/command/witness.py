"""`localdp witness`: whoever an owner names to remember how far an agent's ledger has come.

It should run on another machine than the agent, with another backup: two copies that are put back together agree.

Checked in tests/integration/test_witness_command.py.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from parties.command.arguments import JsonOption, ListenOption, TlsOption
from parties.command.declaring import command
from parties.command.output import print_ok, print_whole, stderr_console, stdout_console

if TYPE_CHECKING:
    from parties.witness.record import KeptHead

witness_app = typer.Typer(help="A witness: it remembers how far ledgers have come.", no_args_is_help=True)

StateOption = Annotated[Path, typer.Option(readable=False, help="Directory of its record and its key.")]


@witness_app.command("run")
@command
def witness_run(
    state: StateOption,
    name: Annotated[str, typer.Option(help="What agents call it.")] = "witness",
    listen: ListenOption = "127.0.0.1:0",
    new: Annotated[
        bool, typer.Option("--new", help="Make that directory: this witness knows no ledger yet.")
    ] = False,
    party: Annotated[
        list[str] | None,
        typer.Option(
            help="NAME=KEY of a party that it takes, by its public key in hexadecimal; several are allowed. "
            "Default: anybody, by the key that it is first seen with."
        ),
    ] = None,
    tls: TlsOption = None,
    revoked: Annotated[
        Path | None, typer.Option(help="A copy of the authority's list of revoked certificates.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Serve until Ctrl-C.  Agents are told its address and, behind "#", its key."""
    import asyncio

    from parties.identity import load_identity
    from parties.witness.run import serve_witness

    def started(address: str, key: str) -> None:
        if json:
            print_ok({"name": name, "address": address, "key": key})
        else:
            print_whole(stderr_console(), f"{name} serves at {address}#{key}; Ctrl-C ends it")

    asyncio.run(
        serve_witness(
            name,
            listen,
            state,
            started,
            new=new,
            identity=None if tls is None else load_identity(tls),
            keys=None if not party else dict(_named_key(one) for one in party),
            revoked=revoked,
        )
    )


@witness_app.command("show")
@command
def witness_show(state: StateOption, json: JsonOption = False) -> None:
    """Which ledgers it knows, and how far each has come."""
    from contextlib import closing

    from parties.witness.heads import public_key_of
    from parties.witness.record import WitnessRecord

    with closing(WitnessRecord(state)) as record:
        key, heads = (
            public_key_of(record.signer).hex(),
            [_head_data(kept) for kept in record.everybody()],
        )
    if json:
        print_ok({"key": key, "parties": heads})
        return
    print_whole(stdout_console(), f"The witness with key {key} knows {len(heads)} ledgers")
    for head in heads:
        told = f"{head['party']}: {head['entries']} entries at {head['time']}, link {head['link']}"
        print_whole(stdout_console(), told)


@witness_app.command("forget")
@command
def witness_forget(
    state: StateOption,
    party: Annotated[str, typer.Argument(help="The party's name.")],
    json: JsonOption = False,
) -> None:
    """Take a ledger off the record, so that its agent may begin anew.  For losses that the owner has declared."""
    from contextlib import closing

    from parties.witness.record import WitnessRecord

    with closing(WitnessRecord(state)) as record:
        head = record.forget(party)
    if json:
        print_ok({"party": head.party, "entries": head.entries, "link": head.link.hex()})
    else:
        print_whole(stdout_console(), f"Forgot {head.party}, which had come to entry {head.entries}")


def _head_data(kept: KeptHead) -> dict[str, str | int]:
    """A head on record, as plain data."""
    signed = kept.countersigned.signed
    return {
        "party": signed.head.party,
        "entries": signed.head.entries,
        "link": signed.head.link.hex(),
        "public_key": signed.public_key.hex(),
        "time": datetime.fromtimestamp(kept.countersigned_at, UTC).isoformat(),
    }


def _named_key(text: str) -> tuple[str, bytes]:
    """NAME=KEY."""
    from localdp.errors import InvalidParameter
    from parties.witness.heads import KEY_BYTES

    name, _, key = text.rpartition("=")
    try:
        found = bytes.fromhex(key)
    except ValueError:
        found = b""
    if not name or len(found) != KEY_BYTES:
        raise InvalidParameter(
            f"a party is given as NAME=KEY, with a key of {2 * KEY_BYTES} hexadecimal digits"
        )
    return name, found
