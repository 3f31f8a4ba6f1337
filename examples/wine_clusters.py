"""Which wines are alike?  k-means on the chemistry of three cultivars (Aeberhard et al. 1992), under every trust model."""

from rich.console import Console
from rich.table import Table
from sklearn.cluster import KMeans as WithoutPrivacy
from sklearn.datasets import load_wine
from sklearn.metrics import adjusted_rand_score

from localdp.algorithms.learners.k_means import KMeans
from localdp.algorithms.quick_start import oracle_of_records
from localdp.algorithms.tables import records_within
from localdp.domains import RealDomain, Schema

PEOPLE, EPSILON = 100_000, 1.0
BOUNDS = {  # what an oenologist would expect: public, and not read off the wines
    "alcohol": (11, 15), "flavanoids": (0, 5), "color_intensity": (0, 12), "hue": (0.4, 1.6), "proline": (200, 1600),
}  # fmt: skip
SCHEMA = Schema({name: RealDomain(-1, 1) for name in BOUNDS})

wines = load_wine(as_frame=True)
scaled = wines.data[[*BOUNDS]].copy()
for name, (low, high) in BOUNDS.items():
    scaled[name] = ((scaled[name] - low) / (high - low) * 2 - 1).clip(-1, 1)
people = scaled.sample(PEOPLE, replace=True, random_state=1)
records = records_within(people, SCHEMA)
table = Table("trust model", "agreement", "cost", "rounds", "epsilon each", "bytes moved")
plain = WithoutPrivacy(3, n_init=10, random_state=0).fit(people)
alike = adjusted_rand_score(wines.target, plain.predict(scaled))
table.add_row("scikit-learn", f"{alike:.2f}", f"{plain.inertia_ / PEOPLE:.3f}")
for model in ("exact", "curator", "shared", "local"):
    learner = KMeans(3, radius=1.3).fit(oracle_of_records(records, EPSILON, model))
    alike, cost = adjusted_rand_score(wines.target, learner.predict(scaled)), learner.cost_
    spent = str(cost.rounds), str(cost.epsilon_promised), f"{cost.bytes_moved:,}"
    table.add_row(model, f"{alike:.2f}", f"{-learner.score(people):.3f}", *spent)
Console().print(table)
print(f"{PEOPLE:,} bottles drawn with replacement from {len(scaled)} wines, each with an owner of its own.")
print(
    "Cost: mean squared distance to the nearest centre.  Agreement: adjusted Rand index with the cultivars."
)
