"""Who takes part in a trial: fresh parties and share servers, some of them faulty, and the oracle over them.

Checked in tests/unit/parties/experiments/test_experiment_trials.py and
tests/unit/parties/experiments/test_experiment_cheating.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.ledger import LARGEST_LIMIT_NANONATS
from localdp.domains import Records
from localdp.experiments.catalogue import QueryTask
from localdp.experiments.cheating import CheatingParty, all_alike, loud_record
from localdp.experiments.faults import Faulty, FaultyLROracle, FaultyShareServers, Rejections
from localdp.oracles.definition import StatisticalQueryOracle
from localdp.oracles.models import TrustModel
from localdp.oracles.simulated import simulated_parties, simulated_servers
from localdp.queries.asked import checked_plan
from localdp.randomness.keyring import Keyring
from parties.experiments.definition import Experiment


@dataclass(frozen=True, slots=True)
class Setting:
    """One trial, before anybody is asked."""

    oracle: StatisticalQueryOracle
    faulty: Faulty
    rejections: Rejections  # by share servers
    lr: FaultyLROracle  # parties in this process; where others are asked, nobody asks these
    shares: FaultyShareServers

    @property
    def refusing(self) -> int:
        """Parties that refused what they were asked last; 0 where it was not the parties."""
        return max(self.lr.refusing, self.shares.refusing)


def limit_of(experiment: Experiment) -> Epsilon:
    """What a person may spend in one trial."""
    return experiment.parties.budget or Epsilon(LARGEST_LIMIT_NANONATS)


def in_this_process(
    experiment: Experiment, model: TrustModel, keyring: Keyring, parts: Sequence[Records], faulty: Faulty
) -> tuple[FaultyLROracle, FaultyShareServers]:
    """Fresh parties with fresh ledgers, and fresh share servers, for a model that has any."""
    lying = faulty.cheating if experiment.faults.cheat == "reports" else ()
    limit = limit_of(experiment)
    parties = simulated_parties(parts, keyring, limit, cheating=lying, cheater=CheatingParty)
    number = experiment.parties.share_servers if model.needs_share_servers else 0
    servers = simulated_servers(number, keyring)
    return FaultyLROracle(parties, faulty), FaultyShareServers(parties, servers, faulty)


def as_told(
    experiment: Experiment, records: Records, parts: Sequence[Records], faulty: Faulty
) -> list[Records]:
    """What each party says that its people's records are."""
    if not faulty.cheating:
        return list(parts)
    task = experiment.task
    lie = _loud_record(records, task.text if isinstance(task, QueryTask) else None)
    return [
        _all_alike(lie, part.people) if number in faulty.cheating else part
        for number, part in enumerate(parts)
    ]


def fewest_honest(experiment: Experiment, parts: Sequence[Records]) -> int | None:
    """How many people are with honest parties at least, whichever parties cheat; None: nobody cheats."""
    cheating = experiment.faults.counts(experiment.parties.count)[2]
    sizes = sorted(part.people for part in parts)
    return sum(sizes[: len(sizes) - cheating]) if cheating else None


# Remembered for the trials of a cell: they are searched and digested once.
@lru_cache(maxsize=4)
def _loud_record(records: Records, text: str | None) -> Records:
    return loud_record(records, None if text is None else checked_plan([text], records.schema)[0])


@lru_cache(maxsize=64)
def _all_alike(record: Records, people: int) -> Records:
    return all_alike(record, people)
