"""Statistics, models and releases of people's records that nobody sees.

    import localdp as ldp

    with ldp.launch("patients.csv", schema, parties=4, budget=3) as hospitals:
        print(hospitals.count("smoker and age >= 65", epsilon=0.5, model="shared"))

`launch` starts simulated parties, `connect` reaches running ones, `simulate` keeps everything in this process.  All three
give a `Federation`: its verbs (`count`, `mean`, `histogram`, `fit`, ...) answer under every trust model.  The names below
are stable; a name is loaded when it is first used, so that importing localdp costs nothing.

Checked in tests/unit/test_front_door.py.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from localdp.accounting.claim import PrivacyClaim as PrivacyClaim
    from localdp.accounting.epsilon import Epsilon as Epsilon
    from localdp.algorithms.definition import Learner as Learner
    from localdp.algorithms.games.equilibrium import EquilibriumSelection as EquilibriumSelection
    from localdp.algorithms.learners.boosting import StumpBooster as StumpBooster
    from localdp.algorithms.learners.conjunction import ConjunctionLearner as ConjunctionLearner
    from localdp.algorithms.learners.decision_tree import DecisionTree as DecisionTree
    from localdp.algorithms.learners.finite_class import FiniteClass as FiniteClass
    from localdp.algorithms.learners.halfspace import HalfspaceLearner as HalfspaceLearner
    from localdp.algorithms.learners.k_means import KMeans as KMeans
    from localdp.algorithms.learners.linear_regression import LinearRegression as LinearRegression
    from localdp.algorithms.learners.logistic import LogisticRegression as LogisticRegression
    from localdp.algorithms.learners.naive_bayes import NaiveBayes as NaiveBayes
    from localdp.algorithms.learners.pca import PCA as PCA
    from localdp.algorithms.online.experts import FollowedExperts as FollowedExperts
    from localdp.algorithms.online.experts import SimplexPoint as SimplexPoint
    from localdp.algorithms.parity.learner import ParityLearner as ParityLearner
    from localdp.algorithms.release.iterative import IterativeConstruction as IterativeConstruction
    from localdp.algorithms.release.marginals import MarginalRelease as MarginalRelease
    from localdp.algorithms.release.projected import ProjectedRelease as ProjectedRelease
    from localdp.algorithms.release.ranges import RangeRelease as RangeRelease
    from localdp.algorithms.stability.sample_and_aggregate import SampleAndAggregate as SampleAndAggregate
    from localdp.algorithms.stability.stable import StableMean as StableMean
    from localdp.algorithms.stability.stable import StableMedian as StableMedian
    from localdp.algorithms.stability.stable import StableScale as StableScale
    from localdp.algorithms.stability.winners import SampleAndVote as SampleAndVote
    from localdp.algorithms.stability.winners import StableWinner as StableWinner
    from localdp.algorithms.streams.continual_count import ContinualCount as ContinualCount
    from localdp.algorithms.streams.factorised_count import FactorisedCount as FactorisedCount
    from localdp.asking.statistic import Statistic as Statistic
    from localdp.asking.tabulation import Tabulation as Tabulation
    from localdp.auditing import audit as audit
    from localdp.domains import Records as Records
    from localdp.domains import Schema as Schema
    from localdp.errors import LocalDpError as LocalDpError
    from localdp.experiments.population import made_up_people as made_up_people
    from localdp.oracles.definition import Answer as Answer
    from localdp.oracles.definition import StatisticalQueryOracle as StatisticalQueryOracle
    from localdp.oracles.models import MODELS as MODELS
    from localdp.randomizers.definition import LocalRandomizer as LocalRandomizer
    from localdp.selection import choose as choose
    from parties.experiments.simulating import simulate_crowd as simulate_crowd
    from parties.federation import Federation as Federation

    __version__: str
    launch, connect, simulate = Federation.launch, Federation.connect, Federation.simulate

_WHERE = {
    "connect": "parties.federation:Federation.connect",
    "launch": "parties.federation:Federation.launch",
    "simulate": "parties.federation:Federation.simulate",
    "Federation": "parties.federation:Federation",
    "Statistic": "localdp.asking.statistic:Statistic",
    "Tabulation": "localdp.asking.tabulation:Tabulation",
    "ConjunctionLearner": "localdp.algorithms.learners.conjunction:ConjunctionLearner",
    "DecisionTree": "localdp.algorithms.learners.decision_tree:DecisionTree",
    "HalfspaceLearner": "localdp.algorithms.learners.halfspace:HalfspaceLearner",
    "KMeans": "localdp.algorithms.learners.k_means:KMeans",
    "LinearRegression": "localdp.algorithms.learners.linear_regression:LinearRegression",
    "LogisticRegression": "localdp.algorithms.learners.logistic:LogisticRegression",
    "NaiveBayes": "localdp.algorithms.learners.naive_bayes:NaiveBayes",
    "PCA": "localdp.algorithms.learners.pca:PCA",
    "FactorisedCount": "localdp.algorithms.streams.factorised_count:FactorisedCount",
    "FollowedExperts": "localdp.algorithms.online.experts:FollowedExperts",
    "ProjectedRelease": "localdp.algorithms.release.projected:ProjectedRelease",
    "SimplexPoint": "localdp.algorithms.online.experts:SimplexPoint",
    "ParityLearner": "localdp.algorithms.parity.learner:ParityLearner",
    "StumpBooster": "localdp.algorithms.learners.boosting:StumpBooster",
    "IterativeConstruction": "localdp.algorithms.release.iterative:IterativeConstruction",
    "MarginalRelease": "localdp.algorithms.release.marginals:MarginalRelease",
    "RangeRelease": "localdp.algorithms.release.ranges:RangeRelease",
    "EquilibriumSelection": "localdp.algorithms.games.equilibrium:EquilibriumSelection",
    "SampleAndAggregate": "localdp.algorithms.stability.sample_and_aggregate:SampleAndAggregate",
    "SampleAndVote": "localdp.algorithms.stability.winners:SampleAndVote",
    "StableMean": "localdp.algorithms.stability.stable:StableMean",
    "StableMedian": "localdp.algorithms.stability.stable:StableMedian",
    "StableScale": "localdp.algorithms.stability.stable:StableScale",
    "StableWinner": "localdp.algorithms.stability.winners:StableWinner",
    "ContinualCount": "localdp.algorithms.streams.continual_count:ContinualCount",
    "Answer": "localdp.oracles.definition:Answer",
    "FiniteClass": "localdp.algorithms.learners.finite_class:FiniteClass",
    "Epsilon": "localdp.accounting.epsilon:Epsilon",
    "Learner": "localdp.algorithms.definition:Learner",
    "LocalDpError": "localdp.errors:LocalDpError",
    "LocalRandomizer": "localdp.randomizers.definition:LocalRandomizer",
    "MODELS": "localdp.oracles.models:MODELS",
    "PrivacyClaim": "localdp.accounting.claim:PrivacyClaim",
    "Records": "localdp.domains:Records",
    "Schema": "localdp.domains:Schema",
    "StatisticalQueryOracle": "localdp.oracles.definition:StatisticalQueryOracle",
    "audit": "localdp.auditing:audit",
    "choose": "localdp.selection:choose",
    "simulate_crowd": "parties.experiments.simulating:simulate_crowd",
    "made_up_people": "localdp.experiments.population:made_up_people",
}
__all__ = ["__version__", *_WHERE]  # noqa: PLE0604


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib.metadata import version

        return version("localdp")
    if name not in _WHERE:
        raise AttributeError(f"module 'localdp' has no attribute {name!r}")
    module, _, path = _WHERE[name].partition(":")
    found: object = import_module(module)
    for part in path.split("."):
        found = getattr(found, part)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
