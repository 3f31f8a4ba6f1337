"""What results.json says in words: what was asked, what is promised, and where the numbers come from.

The sweep is read off the cells, which is what was run; the task and the parties off the text of the experiment's file.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, Context
from typing import Any

from localdp.experiments.cheating import CHEATS, Cheat, cheating_in_words
from localdp.oracles.shared import default_tier
from parties.experiments.definition import Faults, PartiesPlan
from parties.report.experiment.points import AXES, Pool, Spot, values_of
from parties.report.experiment.story import Facts, Promise

_KINDS = {
    "none": "no guarantee",
    "pure": "holds against unlimited computing",
    "computational": "computational: holds against bounded computing (Definition 9.4)",
}
_UNLIMITED = "as much as it takes"
_CHEATS: dict[Cheat, str] = {
    "inputs": "they lie about their people's records, and keep to the protocol with the lie",
    "reports": "they send the reports that push an answer up the most; to a curator, false records",
}
_TASKS = ("query", "learner", "release")


@dataclass(frozen=True, slots=True)
class Told:
    """What the experiment's file says, as far as a report needs it."""

    name: str
    run: Mapping[str, Any] = field(default_factory=dict)
    parties: PartiesPlan = PartiesPlan()
    faults: Faults = Faults()
    budget: str = _UNLIMITED

    @property
    def task(self) -> tuple[str, str]:
        """Its kind, and what it is."""
        kind = next((kind for kind in _TASKS if kind in self.run), "")
        return kind, str(self.run.get(kind, ""))

    @property
    def title(self) -> str:
        """One line that says what was run."""
        kind, what = self.task
        titles = {"query": "One statistical query", "learner": "Learning", "release": "Releasing"}
        return f"{titles[kind]}: {what}" if kind else f"Experiment {self.name}"


def plan_of(provenance: Mapping[str, Any]) -> Told:
    """From the text of the file; a text that is no TOML leaves it at the name."""
    name = str(provenance["experiment"])
    try:
        text = tomllib.loads(str(provenance["configuration"]))
    except tomllib.TOMLDecodeError:
        return Told(name)
    parties, faults = text.get("parties", {}), text.get("faults", {})
    sizes = parties.get("sizes")
    return Told(
        name,
        text.get("run", {}),
        PartiesPlan(
            int(parties.get("number", PartiesPlan().number)),
            None if sizes is None else tuple(int(size) for size in sizes),
            int(parties.get("share_servers", PartiesPlan().share_servers)),
        ),
        _faults(faults),
        f"{parties['budget']} nats" if "budget" in parties else _UNLIMITED,
    )


def _faults(told: Mapping[str, Any]) -> Faults:
    away, late, cheating = (float(told.get(name, 0)) for name in ("dropouts", "stragglers", "cheaters"))
    cheat = next((one for one in CHEATS if one == told.get("cheat")), Faults().cheat)
    return Faults(away, late, cheating, cheat)


def asked(plan: Told, pools: Mapping[Spot, Pool], provenance: Mapping[str, Any]) -> Facts:
    """What was asked, of whom, and under which trust models."""
    kind, what = plan.task
    facts = {kind: what} if kind else {}
    parameters = plan.run.get("parameters")
    if parameters:
        facts["parameters"] = ", ".join(f"{name} = {value}" for name, value in parameters.items())
    facts |= {"trust models": ", ".join(dict.fromkeys(spot.model for spot in pools))}
    for axis in AXES:
        values = values_of(pools, axis)
        if values:
            unit = " (nats per person and trial)" if axis == "epsilon" else ""
            facts[axis] = ", ".join(f"{value:,.10g}" for value in values) + unit
    for model, options in plan.run.get("options", {}).items():
        facts[f"options of {model}"] = ", ".join(f"{name} = {value}" for name, value in options.items())
    servers = (
        f"{plan.parties.share_servers} share servers" if any(s.model == "shared" for s in pools) else ""
    )
    return facts | {
        "data": str(provenance["data"]),
        "parties": ", ".join(part for part in (f"{plan.parties.count:,}", servers) if part),
        "budget": f"{plan.budget}, for a person in one trial",
        "trials": f"{sum(pool.trials for pool in pools.values()):,}, at {len(pools):,} places of the sweep",
    }


def notes(plan: Told, models: Iterable[str] = ()) -> tuple[str, ...]:
    """What to know when measured errors are held against predicted ones."""
    away, late, cheating = plan.faults.counts(plan.parties.count)
    told = []
    if away or late:
        told.append(
            f"In every trial {away} of {plan.parties.count} parties do not answer and {late} answer too late. A prediction "
            "is what a plan says beforehand, for everybody: with people missing errors are larger."
        )
    if cheating:
        told.append(
            f"In every trial {cheating} of {plan.parties.count} parties cheat: {_CHEATS[plan.faults.cheat]}. A prediction "
            "is for honest parties, and no standard error knows of cheaters."
        )
        options = plan.run.get("options", {}).get("shared", {})
        tier = str(options.get("tier", default_tier(simulated=True)))
        told += [f"{model}: {cheating_in_words(model, tier)}" for model in models]
    return tuple(told)


def promises(cells: Iterable[Mapping[str, Any]]) -> tuple[Promise, ...]:
    """Of every trust model: its words at the largest epsilon that was answered, and who must be honest."""
    by_model: dict[str, list[Mapping[str, Any]]] = {}
    for cell in sorted(cells, key=lambda cell: float(cell["epsilon"])):
        by_model.setdefault(str(cell["model"]), []).append(cell)
    return tuple(_promise(model, some) for model, some in by_model.items())


def _promise(model: str, cells: list[Mapping[str, Any]]) -> Promise:
    answered = [cell for cell in cells if cell["privacy"] is not None]
    if not answered:
        return Promise(
            model, "Every trial was refused, so there is no answer that a promise could be about."
        )
    words = str(answered[-1]["privacy"]).removeprefix(f"{model}: ")
    claims = [cell["claim"] for cell in answered if cell.get("claim")]
    return Promise(model, words[:1].upper() + words[1:], _facts(claims) if claims else {})


def _facts(claims: list[Mapping[str, Any]]) -> Facts:
    last = claims[-1]
    if last["epsilon"] is None:
        honest = "everybody who sees an answer"
        return {"epsilon": "none: no limit", "must be honest": honest, "kind": _KINDS["none"]}
    epsilons, deltas = (_all_of(claims, name) for name in ("epsilon", "delta"))
    return {
        "epsilon": f"{epsilons} (nats, per person and trial, over all rounds)",
        "delta": deltas,
        "neighbours": str(last["neighbours"]),
        "against": str(last["against"]),
        "must be honest": str(last["honest"]),
        "kind": _kind(str(last["strength"]), deltas),
    }


def _kind(strength: str, deltas: str) -> str:
    exception = "" if deltas == "0" else ", but for a probability of delta"
    return f"{_KINDS.get(strength, strength)}{exception}"


def _all_of(claims: list[Mapping[str, Any]], name: str) -> str:
    return ", ".join(
        dict.fromkeys(outward(value) for value in sorted({float(claim[name]) for claim in claims}))
    )


def outward(loss: float) -> str:
    """Six digits, rounded up: a loss is never understated."""
    context = Context(prec=6, rounding=ROUND_CEILING)
    rounded = context.create_decimal(repr(loss)).normalize(context)
    return f"{rounded:f}" if loss == 0 or loss >= 1e-3 else f"{float(rounded):g}"


def origin(provenance: Mapping[str, Any]) -> Facts:
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
