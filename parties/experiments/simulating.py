"""A crowd asked under a trust model, on any executor: `localdp simulate` and `localdp.simulate_crowd`.

Checked in tests/unit/parties/experiments/test_simulating.py; that every executor gives the same sums, also when a worker is
killed in the middle, in tests/integration/test_simulate.py.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from localdp.accounting.epsilon import Epsilon
from localdp.errors import InvalidParameter
from localdp.experiments.crowd import Crowd
from localdp.experiments.crowd_answers import (
    HALF_OF_95,
    CrowdAnswer,
    estimated_kind,
    exact_answer,
    released_answer,
    report_epsilon,
)
from localdp.experiments.crowd_reports import CrowdReports, sums_digest
from localdp.oracles.models import DEFAULT_MODEL, Options, TrustModel, model_named
from localdp.party.question import Question
from localdp.randomizers.definition import Floats, TalliedRandomizer, Tally
from localdp.randomizers.registry import Entry, entry_of
from localdp.randomness.keyring import Keyring
from parties.durable import Data
from parties.executors.chosen import HERE, ChosenExecutor
from parties.executors.running import merged
from parties.federated.tables import SchemaLike, records_of

DEFAULT_PEOPLE = 10**6
DEFAULT_SERVERS = 2
Told = Callable[[CrowdAnswer], None]


@dataclass(frozen=True, slots=True, eq=False)
class Simulated:
    """What came out: the answer, the true one, and what it took."""

    model: str
    epsilon: Epsilon  # of a person, in nats
    report: TalliedRandomizer | None  # None: nobody reports, sums are released
    about: str
    answer: CrowdAnswer
    truth: Floats
    digest: str | None  # of the sums of the reports
    seconds: float
    wanted: int  # people; fewer answered if it was stopped

    @property
    def root_mean_square_error(self) -> float:
        """Over all estimates."""
        return float(np.sqrt(np.mean((self.answer.values - self.truth) ** 2)))

    def largest(self, most: int) -> list[tuple[int, float, float, float]]:
        """Input, estimate, half of its interval at 95 % and true value, of the commonest inputs."""
        order = np.argsort(-self.truth, kind="stable")[:most]
        values, halves = self.answer.values, HALF_OF_95 * self.answer.standard_errors
        columns = (values[order], halves[order], self.truth[order])
        return list(zip(order.tolist(), *(column.tolist() for column in columns), strict=True))

    def to_data(self) -> Data:
        """For machines."""
        return {
            "model": self.model,
            "epsilon": float(self.epsilon),
            "randomizer": None if self.report is None else self.report.canonical,
            "people": self.answer.people,
            "people_wanted": self.wanted,
            "crowd": self.about,
            "estimates": self.answer.values.tolist(),
            "standard_errors": self.answer.standard_errors.tolist(),
            "truth": self.truth.tolist(),
            "root_mean_square_error": self.root_mean_square_error,
            "digest": self.digest,
            "seconds": round(self.seconds, 3),
        }


@dataclass(frozen=True, slots=True)
class AskedCrowd:
    """Whom is asked what: people by formula, or those of a table."""

    people: int | None = None
    inputs: int = 2
    law: str | None = None  # uniform, zipf, or a share
    data: object = None
    schema: SchemaLike | None = None
    query: str | None = None

    def made(self, randomizer: TalliedRandomizer) -> Crowd:
        """The crowd, with inputs of the kind that the randomizer takes."""
        if self.data is None and self.schema is None:
            law = self.law or ("0.3" if randomizer.inputs == 2 else "zipf")
            people = DEFAULT_PEOPLE if self.people is None else self.people
            return Crowd.by_law(people, randomizer.inputs, law)
        if self.query is None or self.law is not None:
            raise InvalidParameter("of a table say which query is asked, and no law")
        records = records_of(self.data, self.schema)
        values = Question.asked(self.query, records.schema, randomizer).inputs(records)
        return Crowd.of_table(values, randomizer.inputs, self.people)


def simulate_crowd(
    people: int | None = None,
    *,
    randomizer: str = "one-bit",
    inputs: int = 2,
    law: str | None = None,
    data: object = None,
    schema: SchemaLike | str | Path | None = None,
    query: str | None = None,
    epsilon: Epsilon | float | str = 1,
    model: str = DEFAULT_MODEL,
    servers: int = DEFAULT_SERVERS,
    insecure_seed: int | None = None,
    chosen: ChosenExecutor = HERE,
    told: Told = lambda answer: None,
    stop: Callable[[], bool] = lambda: False,
    **options: object,
) -> Simulated:
    """Ask any number of people, by formula or those of a table, in constant memory; `told` hears the estimate so far.

    By formula people have one of so many `inputs`, by a `law`: "uniform", "zipf", or the share of those who have the
    second of two.  Of a table they are asked a `query`; more people than it has are its people again.  `options` are the
    trust model's.
    """
    row, entry, spent = model_named(model), entry_of(randomizer), Epsilon.requested(epsilon)
    row.settled(options)
    if row.sealed:
        raise InvalidParameter(
            f"a crowd sends no messages of the {model} model: ask simulated parties, by `localdp ask` or `localdp compare`"
        )
    asked = AskedCrowd(people, inputs, law, data, schema, query)
    made = entry.made(spent, inputs)
    kind, crowd = estimated_kind(made), asked.made(made)
    keyring, started = Keyring.of_seed(insecure_seed), time.monotonic()
    report, tally = None, None
    if row.needs_agents and not row.needs_share_servers:
        report = _report(row, entry, spent, crowd, inputs, options)
        tally = run_crowd(CrowdReports(crowd, report, keyring.party(0)), chosen, told, stop)
        answer = CrowdAnswer.of_tally(tally)
    else:
        source = keyring.source("crowd", model)
        answer = released_answer(row, crowd, kind, spent, source, servers, options)
    return Simulated(
        model,
        spent,
        report,
        crowd.about,
        answer,
        exact_answer(crowd, kind),
        None if tally is None else sums_digest(tally),
        time.monotonic() - started,
        crowd.people,
    )


def _report(
    row: TrustModel, entry: Entry, epsilon: Epsilon, crowd: Crowd, inputs: int, options: Options
) -> TalliedRandomizer:
    each = report_epsilon(row, epsilon, crowd.people, entry, options)
    made: TalliedRandomizer = entry.made(each, inputs)
    return made


def run_crowd(
    reports: CrowdReports,
    chosen: ChosenExecutor = HERE,
    told: Told = lambda answer: None,
    stop: Callable[[], bool] = lambda: False,
) -> Tally:
    """The sums of everybody's reports, or of those who had reported when it was stopped."""
    tasks = reports.tasks(chosen.workers)
    tally = merged(
        reports.tally,
        tasks,
        Tally.merge,
        lambda _, so_far: told(CrowdAnswer.of_tally(so_far)),
        chosen,
        stop,
    )
    if tally is None:
        raise InvalidParameter("nobody was asked: it was stopped before the first people were")
    return tally
