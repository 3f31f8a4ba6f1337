"""Who has an affair?  Every three-way table of five answers to the `fair` survey, under every trust model, side by side.

6,366 women answered (Fair 1978, in statsmodels); 100,000 people are drawn from them with replacement.  The bounds of the
columns are public.  Everybody spends epsilon = 1 once, whichever tables are looked at afterwards.
"""

from itertools import combinations

import numpy as np
from rich.console import Console
from rich.table import Table
from statsmodels.api import datasets

from localdp.algorithms.quick_start import oracle_of_records
from localdp.algorithms.release.marginals import MarginalRelease
from localdp.domains import RealDomain, Records, Schema

BOUNDS = {"affairs": (0, 60), "rate_marriage": (1, 5), "religious": (1, 4)}
BOUNDS |= {"age": (17, 42), "educ": (9, 20)}
YES = {"affair": "affairs > 0", "happy": "rate_marriage >= 4", "pious": "religious >= 3"}
YES |= {"thirty": "age >= 30", "college": "educ >= 14"}
TABLES = list(combinations(YES, 3))

survey = datasets.fair.load_pandas().data.sample(100_000, replace=True, random_state=1)
schema = Schema({name: RealDomain(*ends) for name, ends in BOUNDS.items()})
records = Records(schema, {name: np.clip(survey[name].to_numpy(float), *BOUNDS[name]) for name in BOUNDS})
truth: list[np.ndarray] = []
table = Table("trust", "affair: happy, pious", "affair: neither", "error of a cell", "after a fit")
for model in ("exact", "curator", "shared", "local"):
    release = MarginalRelease(YES, wanted=TABLES).fit(oracle_of_records(records, 1.0, model))
    fitted = release.distribution()
    raw = [release.marginal(*names).values for names in TABLES]
    fit, truth = [fitted.marginal(*names) for names in TABLES], truth or raw
    share = fit[0][1] / fit[0].sum(axis=0)  # of those with an affair, by happy and pious
    errors = [f"{np.abs(np.array(made) - truth).mean():.5f}" for made in (raw, fit)]
    table.add_row(model, f"{share[1, 1]:.3f}", f"{share[0, 0]:.3f}", *errors)
Console().print(table)
