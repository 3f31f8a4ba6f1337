"""What `localdp separate`, `attack` and `play` have in common: run, then print tables or the envelope, and write files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from localdp.experiments.attack_trials import Range
from localdp.experiments.panels import Demonstration
from localdp.randomness.keyring import Keyring
from parties.command.options import require_writable
from parties.command.output import print_ok, print_whole, stderr_console, stdout_console
from parties.command.signals import terminate_like_ctrl_c
from parties.report.demonstration import print_demonstration, write_demonstration
from parties.report.drawing import require_matplotlib
from parties.view.waiting import waiting


def run_demonstration(run: Callable[[], Demonstration], out: Path | None, json: bool) -> None:
    """What cannot be written in the end is refused before anything is run."""
    if out is not None:
        require_matplotlib()
        require_writable(out)
    terminate_like_ctrl_c()
    shown = run()
    paths = write_demonstration(shown, out) if out is not None else ()
    if json:
        print_ok(shown.to_data())
        return
    print_demonstration(shown, stdout_console())
    if paths:
        print_whole(stdout_console(), f"Written: {', '.join(map(str, paths))}")


def run_trials(
    shown: Callable[[Range], Demonstration], trials: int, seed: int | None, out: Path | None, json: bool
) -> None:
    """The same for what is tried so often, with progress on standard error."""

    def run() -> Demonstration:
        with waiting(stderr_console(), "starting") as tell:
            return shown(Range(Keyring.of_seed(seed), trials, tell))

    run_demonstration(run, out, json)
