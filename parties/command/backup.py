"""`localdp agent backup` and `localdp agent restore`: an agent's state in one file, and back at a declared loss."""

from __future__ import annotations

import math
from decimal import Decimal
from pathlib import Path

from localdp.accounting.epsilon import NANONATS_PER_NAT, Epsilon
from localdp.errors import InvalidParameter
from parties.agent.backup import MOST_LOSS, keys_in, make_backup, restore
from parties.agent.config import load_config
from parties.agent.opening import forget_command
from parties.agent.state import LEDGER_NAME
from parties.agent.witnessing import witnessed
from parties.command.output import plain_path, print_ok, print_whole, stdout_console


def run_backup(path: Path, out: Path, json: bool) -> None:
    """The state of an agent that runs or does not, into one file."""
    config = load_config(path)
    with witnessed(config) as witness:
        entries = make_backup(config.storage / LEDGER_NAME, config.name, out, witness=witness)
    if json:
        print_ok({"out": str(out), "entries": entries})
        return
    console = stdout_console()
    print_whole(console, f"keys and {entries} entries written to {plain_path(out)}")
    print_whole(
        console, "whoever has this file can undo the coins of every report: keep it as you keep the keys"
    )


def run_restore(path: Path, backup: Path, charge_loss: bool, loss: str | None, json: bool) -> None:
    """The state of a backup in place of what is there."""
    config = load_config(path)
    declared = None if loss is None else _declared(loss)
    ledger = config.storage / LEDGER_NAME
    with witnessed(config, lambda storage: keys_in(backup, config.name, storage)) as witness:
        restored = restore(
            ledger, config.name, backup, charge_loss=charge_loss, loss=declared, witness=witness
        )
    if json:
        told = {"entries": restored.entries, "loss": float(restored.loss)}
        print_ok({**told, "witness_must_forget": restored.unwitnessed})
        return
    console = stdout_console()
    print_whole(console, f"{restored.entries} entries restored into {plain_path(config.storage)}")
    if restored.loss.nanonats:
        print_whole(console, f"everybody was charged epsilon {restored.loss} for what was lost")
    print_whole(console, "the epoch that was open has ended: the next start opens a new one")
    if restored.unwitnessed:
        print_whole(
            console,
            "the witness still knows the ledger of before, and refuses this one until its operator has run "
            f"`{forget_command(config.name)}`",
        )


def _declared(text: str) -> Epsilon:
    """A loss may be nothing, and may be more than any request."""
    most = MOST_LOSS.nanonats // NANONATS_PER_NAT
    try:
        nats = Decimal(text)
        if not 0 <= nats <= most:  # compared first: the whole number of 1e999999 is a long one
            raise ValueError
        return Epsilon(math.ceil(nats * NANONATS_PER_NAT))
    except (ArithmeticError, ValueError) as error:
        raise InvalidParameter(f"a loss is a number of nats, from 0 on and at most {most}") from error
