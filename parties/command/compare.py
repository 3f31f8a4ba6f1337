"""`localdp compare`: the separation of section 9.3, measured."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from localdp.accounting.epsilon import Epsilon
from localdp.experiments.compare import Block, Settings, comparison_of, run_comparison
from localdp.experiments.comparison import Comparison
from localdp.experiments.keyring import Keyring
from localdp.sharing.noise_plans import NoisePlan
from parties.command.options import names, require_writable, whole_number, whole_numbers
from parties.command.output import plain_path, print_ok, print_whole, stderr_console, stdout_console
from parties.command.signals import terminate_like_ctrl_c
from parties.report import print_comparison, require_matplotlib, write_all
from parties.view.bars import trials_shown


@dataclass(frozen=True, slots=True)
class CompareOptions:
    """The command's options, as typed."""

    epsilon: str
    people: str
    trials: str
    models: str
    transport: str
    noise_plan: str
    parties: int
    servers: int
    jobs: int
    out: Path | None
    json: bool
    insecure_seed: int | None

    def settings(self) -> Settings:
        """The options, checked."""
        return Settings(
            epsilon=Epsilon.requested(self.epsilon),
            people=whole_numbers(self.people),
            trials=whole_number(self.trials),
            models=names(self.models),
            plan=NoisePlan.parse(self.noise_plan),
            parties=self.parties,
            servers=self.servers,
        )


def run_compare(options: CompareOptions) -> None:
    """Run, then print the table or the envelope, and write the files."""
    settings = options.settings()
    terminate_like_ctrl_c()
    if options.out is not None:
        require_matplotlib()
        require_writable(options.out)
    comparison = measured(options, settings)
    paths = write_all(comparison, options.out) if options.out is not None else None
    if options.json:
        print_ok(comparison.to_data())
        return
    print_comparison(comparison, stdout_console())
    if paths is not None:
        print_whole(stdout_console(), f"Written: {', '.join(plain_path(path) for path in paths)}")


def measured(options: CompareOptions, settings: Settings) -> Comparison:
    """The experiment, with a progress bar on standard error."""
    keyring = keyring_of(options.insecure_seed)
    started = time.monotonic()
    with progress_of(settings) as done:
        if options.transport == "grpc":
            from parties.simulation.federation import over_grpc

            rows = run_comparison(settings, keyring, over_grpc, done)
        else:
            from parties.simulation.pool import run_in_pool

            rows = run_in_pool(settings, keyring, options.jobs, done)
    return comparison_of(settings, options.transport, rows, time.monotonic() - started)


def keyring_of(insecure_seed: int | None) -> Keyring:
    """Secrets from the operating system, unless repeatable ones were asked for."""
    return Keyring.from_system() if insecure_seed is None else Keyring.insecurely_seeded(insecure_seed)


@contextmanager
def progress_of(settings: Settings) -> Iterator[Callable[[Block], None]]:
    """A bar that moves with every finished block of trials, weighted by the people in it."""
    total = len(settings.people) * len(settings.models) * settings.trials
    with trials_shown(stderr_console(), total) as advance:
        yield lambda block: advance(f"{block.model}, n = {block.people:,}", block.trials)
