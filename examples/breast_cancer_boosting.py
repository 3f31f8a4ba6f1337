"""Is a tumour malignant?  A vote of thresholds on eight measurements, boosted under every trust model."""

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.datasets import load_breast_cancer

from localdp.algorithms.learners.boosting import StumpBooster
from localdp.algorithms.quick_start import oracle_of_records
from localdp.algorithms.tables import records_within
from localdp.domains import BitDomain, RealDomain, Schema

PEOPLE, EPSILON = 100_000, 1.0
# Thresholds, and bounds of 0 and four times the last one: written down, and not read off the patients.
EDGES: dict[str, list[float]] = {
    "mean_radius": [12, 14, 16],
    "mean_texture": [16, 20],
    "mean_concave_points": [0.03, 0.05, 0.08],
    "worst_radius": [14, 16, 18],
    "worst_area": [600, 800, 1000],
    "worst_smoothness": [0.12, 0.14],
    "worst_concavity": [0.2, 0.35],
    "worst_concave_points": [0.1, 0.14, 0.17],
}
bounds = {name: RealDomain(0, 4 * edges[-1]) for name, edges in EDGES.items()}
patients = load_breast_cancer(as_frame=True).frame.rename(columns=lambda name: name.replace(" ", "_"))
patients["malignant"] = patients.target == 0
known = np.random.default_rng(1992).random(len(patients)) < 0.7  # the others are only predicted for
people, others = patients[known].sample(PEOPLE, replace=True, random_state=1), patients[~known]
records = records_within(people, Schema({**bounds, "malignant": BitDomain()}))
table = Table("trust model", "accuracy", "rounds", "epsilon each", "megabytes", "error of an edge")
for model in ("exact", "curator", "shared", "local"):
    learner = StumpBooster("malignant", edges=EDGES, edge=0.5).fit(
        oracle_of_records(records, EPSILON, model)
    )
    cost, planned = learner.cost_, learner.plan_.rows[0].standard_error
    spent = str(cost.rounds), f"{float(cost.epsilon_promised):.3g}", f"{cost.bytes_moved / 1e6:.1f}"
    table.add_row(model, f"{learner.score(others, others.malignant):.3f}", *spent, f"{planned:.2g}")
Console().print(table)
print(f"{PEOPLE:,} people drawn with replacement from {known.sum()}; accuracy on {len(others)} others.")
