"""Trials over gRPC: their parties and share servers as processes on loopback, with the answers of this process.

Processes are started once for a block, because a trial is told from another by the identifiers of its requests alone:
secrets are the keyring's, and a budget without bounds does not remember.  Where people have a budget, or parties cheat,
every trial has fresh processes.  Whoever has everybody's records, the exact or the curator's oracle, needs none.

A process that is away, late or out of disk is no outcome of a trial but a broken machine: the run stops, and can be
resumed.

Claim.  With insecure seeds the rows are those of trials in one process, bit for bit.
Checked in tests/integration/test_experiment_processes.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from types import TracebackType

from localdp.cohorts import Cohort
from localdp.domains import Records
from localdp.errors import DeadlineMissed, InvalidParameter, StorageFailed, Unreachable
from localdp.experiments.faults import Faulty, Rejections
from localdp.oracles.models import model_named
from localdp.randomness.keyring import Keyring
from localdp.sharing.collection import Collection
from localdp.sharing.storage import Holding
from parties.coordinator import Peer, RemoteParties
from parties.experiments.definition import Experiment
from parties.experiments.settings import limit_of
from parties.shares.collector import never
from parties.simulation.launched_shares import LaunchedShareServers
from parties.simulation.launcher import Simulation

MOST_PROCESSES = 600  # of all workers together
BROKEN = (Unreachable, DeadlineMissed, StorageFailed)


class CountingShareServers(LaunchedShareServers):
    """Share servers as processes, and how many reports they did not accept."""

    def __init__(self, parties: RemoteParties, peers: Sequence[Peer]) -> None:
        super().__init__(parties, peers, ends=never)
        self.rejections = Rejections()

    def contribute(self, collection: Collection, *cohorts: Cohort) -> int:
        """Have the parties upload their shares."""
        new = super().contribute(collection, *cohorts)
        self.rejections.uploaded(collection, new)
        return new

    def agree(self, collection: Collection) -> Holding:
        """Have the leader verify, decide and seal together with the others."""
        agreed = super().agree(collection)
        self.rejections.agreed(collection, agreed.reports)
        return agreed


class Processes:
    """The processes of a block; nobody is started before the first trial needs it."""

    def __init__(self, experiment: Experiment, keyring: Keyring) -> None:
        self._experiment, self._keyring = experiment, keyring
        self._running: tuple[RemoteParties, CountingShareServers] | None = None
        self._stack = ExitStack()

    @property
    def lasting(self) -> bool:
        """Whether the processes of one trial are good for the next."""
        return self._experiment.parties.budget is None and not self._experiment.faults.cheaters

    def of_trial(
        self, told: Sequence[Records], faulty: Faulty
    ) -> tuple[RemoteParties, CountingShareServers]:
        """Parties with these records that were never asked before, as far as a budget can tell."""
        if self._running is None or not self.lasting:
            self._stack.close()
            self._running = self._started(told, faulty)
        return self._running

    def _started(
        self, told: Sequence[Records], faulty: Faulty
    ) -> tuple[RemoteParties, CountingShareServers]:
        simulation = Simulation(
            told,
            budget=limit_of(self._experiment),
            servers=self._experiment.parties.share_servers,
            keyring=self._keyring,
            cheating=faulty.cheating if self._experiment.faults.cheat == "reports" else (),
        )
        self._stack.enter_context(simulation)
        shares = CountingShareServers(simulation.parties, simulation.share_servers)
        self._stack.callback(shares.close)
        return simulation.parties, shares

    def __enter__(self) -> Processes:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._running = None
        self._stack.close()


def needs_processes(experiment: Experiment, model: str) -> bool:
    """Whether a trial of this model asks processes."""
    return experiment.parties.transport == "processes" and model_named(model).needs_agents


def require_few_processes(experiment: Experiment, jobs: int) -> None:
    """Refuse what would crowd the machine."""
    plan = experiment.parties
    if not any(needs_processes(experiment, model) for model in experiment.sweep.models):
        return
    each = plan.count + plan.share_servers
    if jobs * each > MOST_PROCESSES:
        raise InvalidParameter(
            f"{experiment.path}: {jobs} workers with {each} processes each are more than {MOST_PROCESSES}: fewer --jobs, "
            'fewer parties, or transport = "in-process"'
        )
