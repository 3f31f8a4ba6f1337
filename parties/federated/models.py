"""The oracle of a trust model over a place, with the options that the model has.

| model | options | who must be honest |
|---|---|---|
| exact | | nobody is protected |
| curator | | the curator, who holds everybody's records: only where they are at hand |
| local | divide = "people" or "epsilon" | nobody |
| shuffled | delta | the shuffler: a running one, or, of launched parties, this process; and the other parties |
| shared | noise_plan, minimum_batch, tier = "prio3" or "additive" | not all of the share servers may collude |

Running parties prove their answers (`tier = "prio3"`) unless told otherwise; simulated ones do not
(`localdp.oracles.shared.default_tier`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.ledger import Ledger, MemoryLedger
from localdp.domains import Records
from localdp.errors import InvalidParameter
from localdp.oracles.collecting import ShareServers
from localdp.oracles.curator import CuratorOracle
from localdp.oracles.definition import StatisticalQueryOracle
from localdp.oracles.exact import ExactOracle
from localdp.oracles.local import LocalOracle
from localdp.oracles.lr import LROracle
from localdp.oracles.shared import SharedOracle, default_tier
from localdp.oracles.shuffled import ShuffledOracle
from localdp.oracles.shuffler import DEFAULT_DELTA, Mixer, Shuffler
from localdp.randomness.source import RandomSource
from localdp.sharing.noise_plans import NoisePlan

MODELS = ("exact", "curator", "local", "shuffled", "shared")
OPTIONS: dict[str, tuple[str, ...]] = {
    "exact": (),
    "curator": (),
    "local": ("divide",),
    "shuffled": ("delta",),
    "shared": ("noise_plan", "minimum_batch", "tier"),
}

Coins = Callable[[str], RandomSource]  # by what they are for


@dataclass(frozen=True, slots=True)
class Sides:
    """What oracles are made of."""

    lr: LROracle
    share_servers: ShareServers | None
    records: Records | None
    curator: Ledger | None  # what people have spent with the curator
    mixer: Mixer | None = None  # a shuffler of its own; None: this process is the shuffler
    honest: int | None = (
        None  # people whose reports hide others in the shuffled model; None: everybody's do
    )


def oracle_on(
    sides: Sides, model: str, epsilon: Epsilon | None, coins: Coins, options: Mapping[str, Any]
) -> StatisticalQueryOracle:
    """The oracle of a model; a round of it costs each person epsilon."""
    _require_options(model, options)
    if model == "exact":
        return ExactOracle(_at_hand(sides, model))
    if epsilon is None:
        raise InvalidParameter(f'say what each person may spend: oracle("{model}", epsilon=1.0)')
    match model:
        case "curator":
            return CuratorOracle(_at_hand(sides, model), epsilon, coins("curator"), ledger=sides.curator)
        case "local":
            return LocalOracle(sides.lr, epsilon, coins("analyst"), **options)
        case "shuffled":
            delta = _delta(options.get("delta", DEFAULT_DELTA))
            mixer = sides.mixer or _mixing_here(sides, coins("shuffler"))
            return ShuffledOracle(mixer, epsilon, coins("analyst"), delta=delta, honest=sides.honest)
    if sides.share_servers is None:
        raise InvalidParameter("these parties have no share servers: use the local model, or start some")
    tier = default_tier(simulated=sides.records is not None)
    return SharedOracle(
        sides.share_servers, epsilon, coins("analyst"), **{"tier": tier, **_shared(options)}
    )


def _require_options(model: str, options: Mapping[str, Any]) -> None:
    if model not in MODELS:
        raise InvalidParameter(f"a trust model is one of {', '.join(MODELS)}; got {model!s:.40}")
    for name in options:
        if name not in OPTIONS[model]:
            known = ", ".join(OPTIONS[model]) or "none"
            raise InvalidParameter(f"the {model} model has no option {name!s:.40}; it has {known}")


def _at_hand(sides: Sides, model: str) -> Records:
    if sides.records is None:
        raise InvalidParameter(
            f"running parties keep their records to themselves: nobody can be the {model} oracle"
        )
    return sides.records


def _mixing_here(sides: Sides, source: RandomSource) -> Shuffler:
    """Whoever mixes sees who sent what.  In a simulation that is no loss; of running parties it is what they hide."""
    if sides.records is None:
        raise InvalidParameter(
            "the shuffled model needs a shuffler, and these parties have none: this process would see who sent what. "
            "`localdp parties up --shuffler` starts one, and its file says where it is"
        )
    return Shuffler(sides.lr, source)


def _delta(value: Any) -> Fraction:
    try:
        return Fraction(str(value))
    except (ValueError, ZeroDivisionError) as error:
        raise InvalidParameter("a delta is a number such as 1e-6") from error


def _shared(options: Mapping[str, Any]) -> dict[str, Any]:
    told = dict(options)
    if "noise_plan" in told:
        plan = told.pop("noise_plan")
        told["plan"] = plan if isinstance(plan, NoisePlan) else NoisePlan.parse(str(plan))
    return told


def curator_ledger(records: Records | None, limits: Sequence[Epsilon]) -> MemoryLedger | None:
    """What a curator keeps, where there can be one."""
    return None if records is None else MemoryLedger(records.people, limits[0])
