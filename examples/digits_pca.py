"""What do handwritten digits have in common?  Principal components of 1797 scans, under every trust model."""

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn import decomposition
from sklearn.datasets import load_digits

from localdp.algorithms.learners.pca import PCA
from localdp.algorithms.quick_start import oracle_of_records
from localdp.algorithms.tables import records_within
from localdp.domains import RealDomain, Schema

PEOPLE, EPSILON, COMPONENTS = 100_000, 1.0, 2

# The middle half of each scan, in eight blocks of four pixels; the margins are mostly blank.
scans = load_digits().images[:, :, 2:6].reshape(-1, 4, 2, 2, 2).mean(axis=(2, 4)).reshape(-1, 8)
SCHEMA = Schema({f"block{place}": RealDomain(0, 16) for place in range(8)})  # grey levels: public
drawn = scans[np.random.default_rng(1).integers(0, len(scans), PEOPLE)]
records = records_within(dict(zip(SCHEMA.names, drawn.T, strict=True)), SCHEMA)


def explained(components: np.ndarray) -> str:
    """The part of all variance that lies along the components."""
    centred = drawn - drawn.mean(axis=0)
    return f"{np.square(centred @ components.T).sum() / np.square(centred).sum():.3f}"


table = Table("trust model", "variance explained", "rounds", "epsilon each", "bytes moved")
table.add_row("scikit-learn", explained(decomposition.PCA(COMPONENTS).fit(drawn).components_))
for model in ("exact", "curator", "shared", "local"):
    learner = PCA(COMPONENTS, radius=13.0).fit(oracle_of_records(records, EPSILON, model))
    cost, spent = learner.cost_, str(learner.cost_.epsilon_promised)
    table.add_row(model, explained(learner.components_), str(cost.rounds), spent, f"{cost.bytes_moved:,}")
Console().print(table)
print(f"{PEOPLE:,} writers drawn with replacement from {len(scans)} scans; {COMPONENTS} components of 8.")
print("A scan further than 13 grey levels from middle grey counts as if it were that far, and no more.")
