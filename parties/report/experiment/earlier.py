"""The stories of what `localdp compare`, `localdp separate` and `localdp attack` write with --out.

Their files say less about where they come from than results.json does: what they say is told.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from localdp.experiments.promises import NEIGHBOURS
from parties.report.experiment.story import Facts, Group, Panel, Point, Promise, Story, Table
from parties.report.wording import MISSING, number, slope

_KINDS = {
    "none": "no guarantee",
    "pure": "holds against unlimited computing",
    "approximate": "holds against unlimited computing, but for a probability of delta",
    "computational": "computational: holds against bounded computing (Definition 9.4)",
}
_HONEST = {"curator": "the curator, who sees every record", "local": "nobody but one's own device"}
_WORDS = {
    "curator": "Whoever sees the answers learns at most epsilon = {epsilon:g} about one person, however much they compute. "
    "The curator sees every record, and must keep them secret.",
    "local": "Whatever leaves a person's device is randomized there. Everybody else together learns at most epsilon = "
    "{epsilon:g} about that person, however much they compute.",
}


def story_of_comparison(source: str, data: Mapping[str, Any]) -> Story:
    """The separation of section 9.3: the error of one count under every trust model."""
    points = [
        Point(
            str(row["model"]),
            int(row["people"]),
            row["mean_abs_error"],
            int(row["trials"]),
            row["standard_error"],
            row["predicted"],
            row["lower_bound"],
        )
        for row in data["rows"]
    ]
    panel = Panel(
        f"epsilon = {data['epsilon']:g}",
        "people",
        "mean |error| of the count, in people",
        tuple(points),
        "predicted",
    )
    slopes = "; ".join(f"{model} {slope(fitted)}" for model, fitted in data["slopes"].items())
    note = (
        f"Slopes of log error on log people, +0.50 for the square root and +0.00 for a constant: {slopes}."
    )
    return Story(
        source,
        f"Error of one private count, epsilon = {data['epsilon']:g}",
        _asked_of_comparison(data, points),
        (Group("Error against people", note, (panel,)),),
        data,
        lead=_last(points),
        promises=tuple(_stated(statement) for statement in data["privacy"]),
        about_promises="For one count. The trials repeat it only to measure the error, on made-up data.",
        costs=Table(
            ("trust model", "rounds", "queries", "epsilon per person"),
            tuple((model, 1, 1, _spent(data, model)) for model in _series(points)),
            note="Of one count.",
        ),
        origin={"seconds": f"{data['seconds']}", "transport": str(data["transport"])},
    )


def _asked_of_comparison(data: Mapping[str, Any], points: Iterable[Point]) -> Facts:
    return {
        "asked": "how many people have a bit set, among made-up people",
        "trust models": ", ".join(_series(points)),
        "epsilon": f"{data['epsilon']:g} (nats per person and count)",
        "shuffled": f"delta = {data['delta']:g}",
        "shared": f"{data['servers']} share servers, noise plan {data['noise_plan']}",
        "transport": str(data["transport"]),
    }


def _spent(data: Mapping[str, Any], model: str) -> str:
    return MISSING if model == "exact" else f"{data['epsilon']:g}"


def _series(points: Iterable[Point]) -> list[str]:
    return list(dict.fromkeys(point.series for point in points))


def _last(points: list[Point]) -> str:
    people = max((point.at for point in points), default=0)
    told = [f"{point.series} {number(point.value)}" for point in points if point.at == people]
    return f"Mean |error| with {people:,.0f} people: {'; '.join(told)}." if told else ""


def _stated(statement: Mapping[str, Any]) -> Promise:
    epsilon, delta = statement["epsilon"], statement.get("delta")
    facts = {
        "epsilon": "none: no limit" if epsilon is None else f"{epsilon:g} (nats), {statement['unit']}",
        "delta": f"{delta:g}" if delta else (MISSING if epsilon is None else "0"),
        "neighbours": str(statement["neighbours"]),
        "must be honest": str(statement["honest"]),
        "kind": _KINDS.get(str(statement["kind"]), str(statement["kind"])),
    }
    return Promise(str(statement["model"]), str(statement["words"]), facts)


def story_of_separation(source: str, data: Mapping[str, Any]) -> Story:
    """What one trust model can do and another cannot (section 12.1)."""
    points, epsilon = data["points"], float(data["epsilon"])
    counted = str(data["measure"]).startswith("fraction of trials")
    panel = Panel(
        f"epsilon = {epsilon:g}",
        str(data["parameter"]),
        str(data["measure"]),
        tuple(_outcome(point, counted) for point in points),
        fraction="fraction" in str(data["measure"]),
    )
    bars = "Bars are one standard error of a fraction of so many trials, with one success and one failure added."
    people = Table(
        (str(data["parameter"]), "series", "people"),
        tuple((point["parameter"], str(point["series"]), int(point["people"])) for point in points),
        texts=(1,),
    )
    models = _models(str(point["series"]) for point in points)
    return Story(
        source,
        str(data["title"]),
        {
            "trust models": ", ".join(models),
            "epsilon": f"{epsilon:g} (nats per person)",
            "measured": str(data["measure"]),
        },
        (Group(str(data["measure"]).capitalize(), bars if counted else "", (panel,)),),
        data,
        promises=tuple(_promise(model, epsilon) for model in models),
        about_promises="For one trial. Trials repeat it on made-up people, only to measure how often it succeeds.",
        cells=people,
        notes=tuple(map(str, data["notes"])),
    )


def _outcome(point: Mapping[str, Any], counted: bool) -> Point:
    value, trials = float(point["value"]), int(point["trials"])
    smooth = (value * trials + 1) / (trials + 2)  # a fraction of 0 or 1 has an error bar, too
    error = (smooth * (1 - smooth) / (trials + 2)) ** 0.5 if counted else None
    return Point(str(point["series"]), point["parameter"], value, trials, error)


def _models(series: Iterable[str]) -> list[str]:
    """A series is of the curator if it says so, and of local reports otherwise."""
    return list(dict.fromkeys("curator" if name.startswith("curator") else "local" for name in series))


def _promise(model: str, epsilon: float) -> Promise:
    facts = {
        "epsilon": f"{epsilon:g} (nats), per person and trial, over all rounds",
        "delta": "0",
        "neighbours": NEIGHBOURS,
        "must be honest": _HONEST[model],
        "kind": _KINDS["pure"],
    }
    return Promise(model, _WORDS[model].format(epsilon=epsilon), facts)


def story_of_attack(source: str, data: Mapping[str, Any]) -> Story:
    """What an analyst learns from answers that are not private, and does not from those that are."""
    panels = [
        Panel(
            str(panel["title"]),
            str(panel["parameter"]),
            str(panel["measure"]),
            tuple(
                Point(str(p["series"]), p["parameter"], p["value"], int(p["trials"]), None, p["predicted"])
                for p in panel["points"]
            ),
            "predicted",
            fraction="fraction" in str(panel["measure"]),
        )
        for panel in data["panels"]
    ]
    return Story(
        source,
        str(data["title"]),
        {"asked": "answers about made-up people, in one process; nobody's agent is attacked"},
        (Group("What the attacker learns", "", tuple(panels)),),
        data,
        about_promises="An attack promises nothing. It shows what answers reveal that are exact, or not noisy enough.",
        notes=tuple(map(str, data["notes"])),
    )
