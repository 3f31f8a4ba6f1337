"""What results.json says in words: what was asked, what is promised, and where the numbers come from.

The sweep is read off the cells, which is what was run; the task, the parties and the faults off the provenance.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context

from localdp.experiments.cheating import Cheat, cheating_in_words
from localdp.oracles.models import MODELS
from localdp.oracles.shared import default_tier
from parties.durable import Data
from parties.experiments.definition import Faults
from parties.report.points import AXES, Pool, Spot, values_of
from parties.report.story import Facts, PromiseInWords

_KINDS = {
    "none": "no guarantee",
    "pure": "holds against unlimited computing",
    "computational": "computational: holds against bounded computing (Definition 9.4)",
}
_CHEATS: dict[Cheat, str] = {
    "inputs": "they lie about their people's records, and keep to the protocol with the lie",
    "reports": "they send the reports that push an answer up the most; to a curator, false records",
}
_TITLES = {"query": "One statistical query", "learner": "Learning", "release": "Releasing"}


@dataclass(frozen=True, slots=True)
class Told:
    """What was to be run, as far as a report needs it."""

    run: Data
    options: Mapping[str, Mapping[str, str]]  # of trust models
    parties: int
    share_servers: int
    budget: float | None
    faults: Faults

    @property
    def task(self) -> tuple[str, str]:
        """Its kind, and what it is."""
        (kind,) = (kind for kind in _TITLES if kind in self.run)
        return kind, str(self.run[kind])

    @property
    def title(self) -> str:
        """One line that says what was run."""
        kind, what = self.task
        return f"{_TITLES[kind]}: {what}"


def plan_of(provenance: Data) -> Told:
    """From what a run wrote down."""
    plan = provenance["plan"]
    return Told(
        plan["run"],
        plan["options"],
        int(plan["parties"]),
        int(plan["share_servers"]),
        plan["budget"],
        Faults(**plan["faults"]),
    )


def asked(plan: Told, pools: Mapping[Spot, Pool], provenance: Data) -> Facts:
    """What was asked, of whom, and under which trust models."""
    kind, what = plan.task
    facts = {kind: what}
    parameters = plan.run.get("parameters")
    if parameters:
        facts["parameters"] = ", ".join(f"{name} = {value}" for name, value in parameters.items())
    facts |= {"trust models": ", ".join(dict.fromkeys(spot.model for spot in pools))}
    for axis in AXES:
        values = values_of(pools, axis)
        if values:
            unit = " (nats per person and trial)" if axis == "epsilon" else ""
            facts[axis] = ", ".join(f"{value:,.10g}" for value in values) + unit
    for model, options in plan.options.items():
        facts[f"options of {model}"] = ", ".join(f"{name} = {value}" for name, value in options.items())
    sharing = {name for name, row in MODELS.items() if row.needs_share_servers}
    servers = f"{plan.share_servers} share servers" if sharing & {spot.model for spot in pools} else ""
    budget = "no limit" if plan.budget is None else f"{plan.budget:g} nats"
    return facts | {
        "data": str(provenance["data"]),
        "parties": ", ".join(part for part in (f"{plan.parties:,}", servers) if part),
        "budget": f"{budget}, for a person in one trial",
        "trials": f"{sum(pool.trials for pool in pools.values()):,}, at {len(pools):,} places of the sweep",
    }


def notes(plan: Told, models: Iterable[str] = ()) -> tuple[str, ...]:
    """What to know when measured errors are held against predicted ones."""
    away, late, cheating = plan.faults.counts(plan.parties)
    told = []
    if away or late:
        told.append(
            f"In every trial {away} of {plan.parties} parties do not answer and {late} answer too late. A prediction "
            "is what a plan says beforehand, for everybody: with people missing errors are larger."
        )
    if cheating:
        told.append(
            f"In every trial {cheating} of {plan.parties} parties cheat: {_CHEATS[plan.faults.cheat]}. A prediction "
            "is for honest parties, and no standard error knows of cheaters."
        )
        told += [f"{model}: {cheating_in_words(model, _tier(plan, model))}" for model in models]
    return tuple(told)


def _tier(plan: Told, model: str) -> str:
    return str(plan.options.get(model, {}).get("tier", default_tier(simulated=True)))


def promises(cells: Iterable[Data]) -> tuple[PromiseInWords, ...]:
    """Of every trust model: its words at the largest epsilon that was answered, and who must be honest."""
    by_model: dict[str, list[Data]] = {}
    for cell in sorted(cells, key=lambda cell: float(cell["epsilon"])):
        by_model.setdefault(str(cell["model"]), []).append(cell)
    return tuple(_promise(model, some) for model, some in by_model.items())


def _promise(model: str, cells: list[Data]) -> PromiseInWords:
    claims = [cell["claim"] for cell in cells if cell["claim"] is not None]
    if not claims:
        return PromiseInWords(
            model, "Every trial was refused, so there is no answer that a promise could be about."
        )
    return promise_of(claims)


def promise_of(claims: Sequence[Data], unit: str = "per person and trial") -> PromiseInWords:
    """The claims of one trust model, by growing epsilon: the words of the last, and the facts of all."""
    model = str(claims[-1]["model"])
    words = str(claims[-1]["words"]).removeprefix(f"{model}: ")
    return PromiseInWords(model, words[:1].upper() + words[1:], _facts(claims, unit))


def _facts(claims: Sequence[Data], unit: str) -> Facts:
    last = claims[-1]
    if last["epsilon"] is None:
        honest = "everybody who sees an answer"
        return {"epsilon": "none: no limit", "must be honest": honest, "kind": _KINDS["none"]}
    epsilons, deltas = (_all_of(claims, name) for name in ("epsilon", "delta"))
    return {
        "epsilon": f"{epsilons} (nats, {unit}, over all rounds)",
        "delta": deltas,
        "neighbours": str(last["neighbours"]),
        "against": str(last["against"]),
        "must be honest": str(last["honest"]),
        "kind": _kind(str(last["strength"]), deltas),
    }


def _kind(strength: str, deltas: str) -> str:
    exception = "" if deltas == "0" else ", except with a probability of delta"
    return f"{_KINDS.get(strength, strength)}{exception}"


def _all_of(claims: Sequence[Data], name: str) -> str:
    return ", ".join(
        dict.fromkeys(outward(value) for value in sorted({float(claim[name]) for claim in claims}))
    )


def outward(loss: float) -> str:
    """Six digits, rounded up: a loss is never understated."""
    context = Context(prec=6, rounding=ROUND_CEILING)
    rounded = context.create_decimal(repr(loss)).normalize(context)
    return f"{rounded:f}" if loss == 0 or loss >= 1e-3 else f"{float(rounded):g}"


def origin(provenance: Data) -> Facts:
    """Where the numbers come from."""
    facts: dict[str, str] = {}
    for key in ("versions", "machine"):
        facts[key] = ", ".join(f"{name} {value}" for name, value in provenance[key].items())
    seeds = provenance["seeds"]
    facts["seeds"] = seeds if isinstance(seeds, str) else f"insecure: {', '.join(map(str, seeds))}"
    for key in (
        "experiment",
        "configuration_sha256",
        "data",
        "data_sha256",
        "started",
        "finished",
        "seconds",
        "jobs",
    ):
        if provenance.get(key) is not None:
            facts[key.replace("_", " ")] = str(provenance[key])
    return facts
