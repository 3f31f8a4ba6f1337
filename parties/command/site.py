"""`localdp site`: one archive for each site of a study, and an agent's directory from it.

Checked in tests/unit/parties/test_site.py.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from parties.command.arguments import JsonOption
from parties.command.declaring import command
from parties.command.options import names as listed
from parties.command.output import plain_path, print_ok, print_whole, stdout_console

site_app = typer.Typer(help="One archive for each site of a study.", no_args_is_help=True)


@site_app.command("new")
@command
def site_new(
    keys: Annotated[Path, typer.Argument(readable=False, help="The directory of `localdp keys init`.")],
    name: Annotated[str, typer.Argument(help="The site's name, such as north.")],
    listen: Annotated[str | None, typer.Option(help="Where its agent listens.")] = None,
    dial: Annotated[str | None, typer.Option(help="Or the coordinator that it dials.")] = None,
    analyst: Annotated[str, typer.Option(help="Who may ask.")] = "analyst",
    servers: Annotated[
        str, typer.Option(help="Share servers: server-0=HOST:PORT,server-1=HOST:PORT.")
    ] = "",
    hosts: Annotated[str, typer.Option(help="Hosts that it is reached at.")] = "localhost,127.0.0.1",
    out: Annotated[Path | None, typer.Option(help="The archive to write; NAME.site, if not given.")] = None,
    json: JsonOption = False,
) -> None:
    """Make a site's certificate, and one archive with all that the site needs."""
    from parties.site import Site, new_site

    told = dict(one.partition("=")[::2] for one in listed(servers)) if servers else {}
    path = Path(f"{name}.site") if out is None else out
    made = new_site(keys / "authority", Site(name, listen, dial, analyst, told), listed(hosts), path)
    if json:
        print_ok({"out": str(path), **asdict(made)})
        return
    console = stdout_console()
    print_whole(console, f"{plain_path(path)} has a secret key: hand it to {name} alone")
    print_whole(console, f"tell its digest by another way: {made.digest}")
    print_whole(console, f"fingerprint of the certificate: {made.fingerprint}")


@site_app.command("join")
@command
def site_join(
    bundle: Annotated[Path, typer.Argument(readable=False, help="An archive of `localdp site new`.")],
    digest: Annotated[str | None, typer.Option(help="Its digest, known by another way.")] = None,
    into: Annotated[Path, typer.Option(help="The directory of the agent.")] = Path(),
    json: JsonOption = False,
) -> None:
    """Begin an agent's directory with a site's archive; one that was changed on the way is refused."""
    from parties.site import join_site

    made = join_site(bundle, into, digest)
    if json:
        print_ok({"into": str(into), **asdict(made)})
        return
    console = stdout_console()
    if digest is None:
        print_whole(console, f"compare its digest with whoever made it: {made.digest}")
    print_whole(console, f"fingerprint of the certificate: {made.fingerprint}")
    print_whole(
        console,
        f"agent.toml and keys stand in {plain_path(into.absolute())}; README.txt says what comes next",
    )
