"""How far has diabetes come in a year?  Least squares on 442 patients (Efron et al. 2004), under every trust model."""

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LinearRegression as WithoutPrivacy

from localdp.algorithms.learners.linear_regression import LinearRegression
from localdp.algorithms.quick_start import oracle_of_records
from localdp.algorithms.tables import records_within
from localdp.domains import RealDomain, Schema

PEOPLE, EPSILON = 100_000, 1.0
BOUNDS = {  # what a laboratory would expect: public, and not read off the patients
    "age": (18, 80), "sex": (1, 2), "bmi": (15, 45), "bp": (60, 140), "s1": (80, 320), "s2": (30, 250),
    "s3": (20, 100), "s4": (1, 10), "s5": (3, 6.5), "s6": (50, 130), "target": (0, 350),
}  # fmt: skip
SCHEMA = Schema({name: RealDomain(low, high) for name, (low, high) in BOUNDS.items()})

patients = load_diabetes(as_frame=True, scaled=False).frame
known = np.random.default_rng(2004).random(len(patients)) < 0.7  # the others are only predicted for
people, others = patients[known].sample(PEOPLE, replace=True, random_state=1), patients[~known]
records = records_within(people, SCHEMA)
features = list(BOUNDS)[:-1]
table = Table("trust model", "R²", "weight of bmi", "rounds", "epsilon each", "bytes moved")
plain = WithoutPrivacy().fit(people[features], people.target)
table.add_row(
    "scikit-learn", f"{plain.score(others[features], others.target):.3f}", f"{plain.coef_[2]:.2f}"
)
for model in ("exact", "curator", "shared", "local"):
    learner = LinearRegression().fit(oracle_of_records(records, EPSILON, model))
    cost, shown = learner.cost_, (f"{learner.score(others, others.target):.3f}", f"{learner.coef_[2]:.2f}")
    table.add_row(model, *shown, str(cost.rounds), str(cost.epsilon_promised), f"{cost.bytes_moved:,}")
Console().print(table)
print(f"{PEOPLE:,} people drawn with replacement from {known.sum()} patients; R² on {len(others)} others.")
print(
    "The blood values s1 to s6 nearly repeat one another: their single weights mean little, the sum does."
)
