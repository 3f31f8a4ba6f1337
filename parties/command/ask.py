"""`localdp ask`: one query, one trust model, one answer with its error bar and its price."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Table

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.shuffling import FEWEST_PEOPLE
from localdp.errors import InvalidParameter
from localdp.experiments.keyring import Keyring
from localdp.experiments.population import SCHEMA, made_up_people
from localdp.oracles.definition import Answer, StatisticalQueryOracle
from localdp.oracles.models import Count, Parties, TrustModel, model_named, models_with, require_at_hand
from localdp.oracles.shared import DEFAULT_TIER, require_batch
from localdp.oracles.shuffler import Promise
from localdp.queries.asked import checked_round
from localdp.sharing.collection import Tier
from parties.command.answers import answer_rows
from parties.command.options import number_of_people
from parties.command.output import print_ok, stdout_console
from parties.command.running import are_running, connected, told
from parties.durable import Data

if TYPE_CHECKING:
    from parties.federation import Federation


@dataclass(frozen=True, slots=True)
class AskOptions:
    """The command's options, as typed."""

    query: str
    model: str
    epsilon: str
    connect: Path | None
    identity: Path | None
    relay: str | None
    expect: str
    people: str
    parties: int
    servers: int
    noise_plan: str
    json: bool
    tier: Tier = DEFAULT_TIER
    minimum_batch: int | None = None


def run_ask(options: AskOptions) -> None:
    """Ask, then print the answer with its error, its cost and what was promised."""
    epsilon, model = Epsilon.requested(options.epsilon), model_named(options.model)
    chosen = _chosen(options, model)
    with _federation(options, epsilon, model, chosen) as federation:
        oracle = federation.oracle(model.name, epsilon, **chosen)
        answer, schema = oracle.answer([options.query])[0], oracle.schema
        data = answer_data(answer, oracle)
    if options.json:
        print_ok(data)
        return
    table = Table(title=answer.query, show_header=False, title_justify="left")
    for row in answer_rows(answer, schema):
        table.add_row(*row)
    table.add_row("trust model", oracle.claim.model)
    table.add_row("epsilon per person", str(oracle.cost.epsilon_per_person))
    console = stdout_console()
    console.print(table)
    console.print(oracle.claim.statement())


def answer_data(answer: Answer, oracle: StatisticalQueryOracle) -> Data:
    """The answer for a machine."""
    return {
        **answer.to_data(),
        "model": oracle.claim.model,
        "epsilon_per_person": float(oracle.cost.epsilon_per_person),
        "rounds": oracle.cost.rounds,
        "bytes_moved": oracle.cost.bytes_moved,
        "privacy": oracle.claim.statement(),
    }


def _chosen(options: AskOptions, model: TrustModel) -> Data:
    """The options of the model, as far as the command has them."""
    if options.minimum_batch is not None and "minimum_batch" not in model.options:
        goes_with = " or ".join(models_with("minimum_batch"))
        raise InvalidParameter(
            f"--minimum-batch is about what share servers hold: it goes with --model {goes_with}"
        )
    typed = {name: getattr(options, name, None) for name in model.options}
    return {name: value for name, value in typed.items() if value is not None}


def _federation(options: AskOptions, epsilon: Epsilon, model: TrustModel, chosen: Data) -> Federation:
    """Running parties if connected, else parties launched for this question, where the model asks any."""
    from parties.federation import Federation

    if are_running(options):
        require_at_hand(model, Parties())
        return connected(options, only_shuffler=model.needs_mixer)
    checked_round([options.query], SCHEMA)  # a query that is refused is refused before anything is launched
    people = made_up_people(number_of_people(options.people), Keyring.from_system().source("people"))
    if model.needs_share_servers:
        require_batch(model.settled(chosen)["minimum_batch"], people.people)
    return Federation.launch(
        people,
        parties=options.parties if model.needs_agents else 1,
        share_servers=options.servers,
        budget=model.charge(Count(people.people, epsilon)),
        processes=model.needs_agents,
        shuffler=Promise(epsilon, minimum_cohort=FEWEST_PEOPLE) if model.needs_mixer else None,
        told=told,
    )
