"""Three questions to 50,000 people behind 20 agents, under every trust model, each answer with its standard error."""

from rich.console import Console
from rich.table import Table

from localdp.accounting.epsilon import Epsilon
from localdp.domains.dealing import dealt
from localdp.experiments.population import made_up_people
from localdp.oracles.curator import CuratorOracle
from localdp.oracles.exact import ExactOracle
from localdp.oracles.local import LocalOracle
from localdp.oracles.shared import SharedOracle
from localdp.randomness.keystream import KeystreamSource
from parties.simulation.launcher import Simulation

QUESTIONS = ["smoker", 'age >= 65 and region in {"north", "east"}', "clip(bmi/60)"]
EPSILON = Epsilon.requested(1)  # what each person spends in one round of questions

source = KeystreamSource.from_system()
people = made_up_people(50_000, source)
table = Table("trust model", *QUESTIONS, "epsilon")

with Simulation(dealt(people, 20), budget=EPSILON * 2, servers=2) as running:
    oracles = [
        ExactOracle(people),
        CuratorOracle(people, EPSILON, source),
        LocalOracle(running.parties, EPSILON, source),
        SharedOracle(running.shared, EPSILON, source, tier="additive"),  # simulated parties tell no lies
    ]
    for oracle in oracles:
        answers = oracle.answer(QUESTIONS)
        cells = [f"{answer.value:.4f} ± {answer.standard_error:.4f}" for answer in answers]
        table.add_row(oracle.claim.model, *cells, str(oracle.cost.epsilon_promised))

Console().print(table)
for oracle in oracles:
    print(oracle.claim.statement())
