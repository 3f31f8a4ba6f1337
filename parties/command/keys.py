"""`localdp keys`: certificates of everybody, and the secret keys of an agent.

Checked in tests/integration/test_tls.py, test_revocation.py and test_agent_command.py.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from parties.command.arguments import ConfigArgument, JsonOption
from parties.command.declaring import command
from parties.command.options import names as listed
from parties.command.output import print_ok, print_whole, stdout_console

keys_app = typer.Typer(help="Certificates and secret keys.", no_args_is_help=True)
KeysArgument = Annotated[Path, typer.Argument(readable=False, help="The directory of `localdp keys init`.")]


@keys_app.command("init")
@command
def keys_init(
    directory: Annotated[Path, typer.Argument(help="Where to put the authority and the identities.")],
    names: Annotated[
        str, typer.Option(help="Roles to issue certificates to, separated by commas.")
    ] = "analyst",
    hosts: Annotated[str, typer.Option(help="Hosts that they are reached at.")] = "localhost,127.0.0.1",
    json: JsonOption = False,
) -> None:
    """Make a development authority, and an identity for each role."""
    from parties.identity import make_authority, make_identity

    authority = directory / "authority"
    make_authority(authority)
    for name in listed(names):
        make_identity(authority, directory / name, name, listed(hosts))
    if json:
        print_ok(
            {
                "authority": str(authority),
                "identities": [str(directory / name) for name in listed(names)],
            }
        )
    else:
        made = f"Made an authority and {len(listed(names))} identities in {directory}"
        print_whole(stdout_console(), made)


@keys_app.command("issue")
@command
def keys_issue(
    directory: KeysArgument,
    name: Annotated[str, typer.Argument(help="The role's name.")],
    hosts: Annotated[str, typer.Option(help="Hosts that it is reached at.")] = "localhost,127.0.0.1",
    json: JsonOption = False,
) -> None:
    """Issue one more identity."""
    from parties.identity import make_identity

    make_identity(directory / "authority", directory / name, name, listed(hosts))
    if json:
        print_ok({"identity": str(directory / name)})
    else:
        print_whole(stdout_console(), f"Made an identity in {directory / name}")


@keys_app.command("revoke")
@command
def keys_revoke(
    directory: KeysArgument,
    name: Annotated[str, typer.Argument(help="The role whose certificates are taken back, all of them.")],
    json: JsonOption = False,
) -> None:
    """Take back a role's certificates: extend the signed list that servers are given a copy of."""
    from parties.revocation_list import REVOKED, revoke

    made = revoke(directory, name)
    path = directory / "authority" / REVOKED
    if json:
        print_ok({"list": str(path), "number": made.number, "revoked": len(made.serials)})
    else:
        told = (
            f"List {made.number} of {len(made.serials)} revoked certificates is {path}: give servers a copy"
        )
        print_whole(stdout_console(), told)


@keys_app.command("rotate")
@command
def keys_rotate(config: ConfigArgument, json: JsonOption = False) -> None:
    """Draw new requests from a new secret key; requests answered before keep theirs.  Restart the agent after it."""
    from parties.agent.config import load_config
    from parties.agent.secret_file import rotate_secrets

    current = rotate_secrets(load_config(config).storage).secrets.current
    if json:
        print_ok({"current": current})
    else:
        stdout_console().print(f"The current key is {current}; older ones are kept for repeated requests")
