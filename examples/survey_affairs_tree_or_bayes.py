"""Who had an affair?  Naive Bayes and a tree on a survey of 1974 (Fair 1978), under every trust model."""

import numpy as np
from rich.console import Console
from rich.table import Table
from statsmodels.api import datasets

from localdp.algorithms.learners.decision_tree import DecisionTree
from localdp.algorithms.learners.naive_bayes import NaiveBayes
from localdp.algorithms.quick_start import oracle_of_records
from localdp.algorithms.tables import records_within
from localdp.domains import BitDomain, Domain, IntegerDomain, RealDomain, Schema

PEOPLE, EPSILON = 100_000, 2.0  # each learner spends epsilon once
EDGES = {"age": [20, 25, 30, 35], "yrs_married": [1, 3, 8, 15]}
# All of them public.
bounds: dict[str, Domain] = {"age": RealDomain(15, 45), "yrs_married": RealDomain(0, 25)}
bounds |= {"rate_marriage": IntegerDomain(1, 5), "religious": IntegerDomain(1, 4), "affair": BitDomain()}

survey = datasets.fair.load_pandas().data.assign(affair=lambda answers: answers.affairs > 0)
known = np.random.default_rng(1974).random(len(survey)) < 0.7  # the others are only predicted for
people, others = survey[known].sample(PEOPLE, replace=True, random_state=1), survey[~known]
records = records_within(people, Schema(bounds))
table = Table("trust model", "naive Bayes", "tree", "rounds", "epsilon each", "megabytes")
for model in ("exact", "curator", "shared", "local"):
    bayes = NaiveBayes("affair", edges=EDGES)
    tree = DecisionTree("affair", edges=EDGES, depth=2)
    learners = [learner.fit(oracle_of_records(records, EPSILON, model)) for learner in (bayes, tree)]
    scores = [f"{learner.score(others, others.affair):.3f}" for learner in learners]
    rounds = " + ".join(str(learner.cost_.rounds) for learner in learners)
    spent = " + ".join(f"{float(learner.cost_.epsilon_promised):.3g}" for learner in learners)
    moved = sum(learner.cost_.bytes_moved for learner in learners)
    table.add_row(model, *scores, rounds, spent, f"{moved / 1e6:.1f}")
Console().print(table)
print(f"{PEOPLE:,} people drawn with replacement from {known.sum():,}; accuracy on {len(others):,} others.")
print(
    f"Saying no to everybody: {1 - others.affair.mean():.3f}.  The tree from local reports:\n{tree.tree_}"
)
