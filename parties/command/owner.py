"""Commands for those who hold records: `localdp agent`, `localdp keys`, `localdp budget`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from parties.command.arguments import JsonOption

agent_app = typer.Typer(help="A party's agent: make its state, and serve.", no_args_is_help=True)
keys_app = typer.Typer(help="Certificates and secret keys.", no_args_is_help=True)
budget_app = typer.Typer(help="What was asked of your people, and what remains.", no_args_is_help=True)

# Opened by the command, which says in one line what is wrong with it: not checked by the parser.
ConfigArgument = Annotated[Path, typer.Argument(readable=False, help="The agent's configuration (TOML).")]


@agent_app.command("init")
def agent_init(config: ConfigArgument, json: JsonOption = False) -> None:
    """Check the configuration and the data, make secret keys and an empty ledger, and open the first epoch."""
    from parties.command.output import print_ok, print_whole, reporting, stdout_console

    with reporting(json):
        from parties.agent.config import load_config
        from parties.agent.state import init_storage

        made = init_storage(load_config(config))
        if json:
            print_ok({"storage": str(made)})
        else:
            print_whole(stdout_console(), f"Made secret keys and an empty ledger in {made}")


@agent_app.command("publish")
def agent_publish(config: ConfigArgument, json: JsonOption = False) -> None:
    """Open a new epoch: read the table anew, and answer from it from now on.  A running agent notices by itself."""
    from parties.command.output import print_ok, print_whole, reporting, stdout_console

    with reporting(json):
        from parties.agent.config import load_config
        from parties.agent.state import publish

        opened = publish(load_config(config))
        if json:
            print_ok({"epoch": opened.number, "opened_at": opened.opened_at})
        else:
            told = f"Epoch {opened.number} is open; requests of earlier ones have expired"
            print_whole(stdout_console(), told)


@agent_app.command("run")
def agent_run(config: ConfigArgument, json: JsonOption = False) -> None:
    """Serve until Ctrl-C."""
    from parties.command.output import print_ok, print_whole, reporting, stderr_console

    with reporting(json):
        import asyncio

        from parties.agent.config import load_config
        from parties.agent.run import serve_agent

        settings = load_config(config)
        console = stderr_console()

        def started(address: str) -> None:
            if json:
                print_ok({"name": settings.name, "address": address})
            else:
                print_whole(console, f"{settings.name} serves at {address}; Ctrl-C ends it")

        asyncio.run(serve_agent(settings, started, lambda text: print_whole(console, text)))


@agent_app.command("backup")
def agent_backup(
    config: ConfigArgument,
    out: Annotated[
        Path, typer.Option(help="The file to write: keys, ledger and mark. Keep it as you keep keys.")
    ],
    json: JsonOption = False,
) -> None:
    """Write the agent's state into one file; the agent may be running."""
    from parties.command.output import reporting

    with reporting(json):
        from parties.command.backup import run_backup

        run_backup(config, out, json)


@agent_app.command("restore")
def agent_restore(
    config: ConfigArgument,
    backup: Annotated[Path, typer.Argument(readable=False, help="A file of `localdp agent backup`.")],
    charge_loss: Annotated[
        bool,
        typer.Option("--charge-loss", help="Charge everybody what may have been charged since the backup."),
    ] = False,
    loss: Annotated[
        str | None,
        typer.Option(
            help="Charge everybody this epsilon; needed where the mark is lost, and nobody can know."
        ),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Go back to a backup, at a loss that no budget gains by; the agent must be stopped."""
    from parties.command.output import reporting

    with reporting(json):
        from parties.command.backup import run_restore

        run_restore(config, backup, charge_loss, loss, json)


@keys_app.command("init")
def keys_init(
    directory: Annotated[Path, typer.Argument(help="Where to put the authority and the identities.")],
    names: Annotated[
        str, typer.Option(help="Roles to issue certificates to, separated by commas.")
    ] = "analyst",
    hosts: Annotated[str, typer.Option(help="Hosts that they are reached at.")] = "localhost,127.0.0.1",
    json: JsonOption = False,
) -> None:
    """Make a development authority, and an identity for each role."""
    from parties.command.output import print_ok, print_whole, reporting, stdout_console

    with reporting(json):
        from parties.command.options import names as listed
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
def keys_issue(
    directory: Annotated[
        Path, typer.Argument(readable=False, help="The directory of `localdp keys init`.")
    ],
    name: Annotated[str, typer.Argument(help="The role's name.")],
    hosts: Annotated[str, typer.Option(help="Hosts that it is reached at.")] = "localhost,127.0.0.1",
    json: JsonOption = False,
) -> None:
    """Issue one more identity."""
    from parties.command.output import print_ok, print_whole, reporting, stdout_console

    with reporting(json):
        from parties.command.options import names as listed
        from parties.identity import make_identity

        make_identity(directory / "authority", directory / name, name, listed(hosts))
        if json:
            print_ok({"identity": str(directory / name)})
        else:
            print_whole(stdout_console(), f"Made an identity in {directory / name}")


@keys_app.command("revoke")
def keys_revoke(
    directory: Annotated[
        Path, typer.Argument(readable=False, help="The directory of `localdp keys init`.")
    ],
    name: Annotated[str, typer.Argument(help="The role whose certificates are taken back, all of them.")],
    json: JsonOption = False,
) -> None:
    """Take back a role's certificates: extend the signed list that servers are given a copy of."""
    from parties.command.output import print_ok, print_whole, reporting, stdout_console

    with reporting(json):
        from parties.revocation_list import REVOKED, revoke

        made = revoke(directory, name)
        path = directory / "authority" / REVOKED
        if json:
            print_ok({"list": str(path), "number": made.number, "revoked": len(made.serials)})
        else:
            told = f"List {made.number} of {len(made.serials)} revoked certificates is {path}: give servers a copy"
            print_whole(stdout_console(), told)


@keys_app.command("rotate")
def keys_rotate(config: ConfigArgument, json: JsonOption = False) -> None:
    """Draw new requests from a new secret key; requests answered before keep theirs.  Restart the agent after it."""
    from parties.command.output import print_ok, reporting, stdout_console

    with reporting(json):
        from parties.agent.config import load_config
        from parties.agent.secret_file import rotate_secrets

        current = rotate_secrets(load_config(config).storage).secrets.current
        if json:
            print_ok({"current": current})
        else:
            stdout_console().print(
                f"The current key is {current}; older ones are kept for repeated requests"
            )


@budget_app.command("show")
def budget_show(config: ConfigArgument, json: JsonOption = False) -> None:
    """What has been spent, and what remains."""
    from parties.command.output import reporting

    with reporting(json):
        from parties.command.budget import run_show

        run_show(config, json)


@budget_app.command("history")
def budget_history(
    config: ConfigArgument,
    last: Annotated[int, typer.Option(min=1, help="How many of the latest uses to show.")] = 20,
    json: JsonOption = False,
) -> None:
    """What was asked, by whom, when, and at which epsilon."""
    from parties.command.output import reporting

    with reporting(json):
        from parties.command.budget import run_history

        run_history(config, last, json)


@budget_app.command("export")
def budget_export(
    config: ConfigArgument,
    out: Annotated[Path, typer.Option(help="Where to write the signed register.")],
    json: JsonOption = False,
) -> None:
    """Write a signed, machine-readable register of every use of epsilon."""
    from parties.command.output import reporting

    with reporting(json):
        from parties.command.budget import run_export

        run_export(config, out, json)


@budget_app.command("verify")
def budget_verify(
    register: Annotated[
        Path, typer.Argument(readable=False, help="A register made by `localdp budget export`.")
    ],
    public_key: Annotated[
        str, typer.Option(help="The party's public key, in hexadecimal, known from elsewhere.")
    ],
    json: JsonOption = False,
) -> None:
    """Check that a register is whole and was signed by the party."""
    from parties.command.output import reporting

    with reporting(json):
        from parties.command.budget import run_verify

        run_verify(register, public_key, json)
