"""The stories of what `localdp compare`, `localdp separate` and `localdp attack` write with --out.

Their files say less about where they come from than results.json does: what they say is told.
"""

from __future__ import annotations

from collections.abc import Iterable

from localdp.experiments.comparison import ORDER
from localdp.experiments.panels import Panel, Point
from localdp.oracles.compared import COMPARED
from localdp.oracles.local import LocalOracle
from localdp.oracles.shared import SharedOracle
from localdp.oracles.shuffled import ShuffledOracle
from parties.durable import Data
from parties.report.in_words import promise_of
from parties.report.story import Facts, Group, Story, Table
from parties.report.wording import MISSING, number, slope

_ONE_COUNT = (
    "For one count. Two data sets are neighbours when one person's record is replaced. Epsilon bounds, in nats, how much "
    "more likely any outcome is for one of two neighbours than for the other. Repeating the count for the same people "
    "spends epsilon again each time; the trials repeat it only to measure the error, on made-up data."
)
_ONE_TRIAL = "For one trial. Trials repeat it on made-up people, only to measure how often it succeeds."
_BARS = "Bars are of a fraction of so many trials, with one success and one failure added."
_NOTHING = "An attack promises nothing. It shows what answers reveal that are exact, or not noisy enough."
_WHY = (
    "Why there is a gap: without cryptography each person must add noise on their own. The noises of n people add up to "
    "an error of order √n, and Theorem 9.2 says that no such protocol does better. Section 9.3 of Dwork and Roth gives "
    "the way around: let several servers compute, on secret shares, what a trusted curator would have computed. Noise is "
    "then added once and not n times, so the error is a constant whatever n is. The price is the kind of promise: it "
    "holds against adversaries of bounded computing power, and while not all of the servers collude.",
    "Between the two stands the shuffled model. Each person randomizes, but only a little, and somebody mixes the reports "
    "so that nobody can tell whose is whose. Each person hides in the noise of all the others: the more people there are, "
    "the less noise each has to add, so that the error is a constant too, a few times the curator's. The price is a small "
    "delta, and a shuffler that must keep who sent what to itself; and the other parties must not tell what they sent.",
)


def story_of_comparison(source: str, data: Data) -> Story:
    """The separation of section 9.3: the error of one count under every trust model."""
    panel = panel_of_comparison(data)
    models = list(panel.series())
    slopes = "; ".join(f"{model} {slope(fitted)}" for model, fitted in data["slopes"].items())
    note = (
        f"Slopes of log error on log people, +0.50 for the square root and +0.00 for a constant: {slopes}. The predicted "
        "error of the local model has the best known constant (Kairouz, Oh and Viswanath 2015); its lower bound is in the "
        "manner of Theorem 9.2."
    )
    spent = [
        (model, 1, 1, f"{data['epsilon']:g}" if COMPARED[model].spends else MISSING) for model in models
    ]
    return Story(
        source,
        title_of_comparison(data),
        _asked_of_comparison(data, models),
        (Group("Error against people", note, (panel,)),),
        data,
        lead=_summary(panel.points),
        promises=tuple(promise_of([claim], "for one count") for claim in data["privacy"]),
        about_promises=_ONE_COUNT,
        costs=Table(
            ("trust model", "rounds", "queries", "epsilon promised"), tuple(spent), note="Of one count."
        ),
        cells=_all_numbers(panel),
        notes=(*_WHY, *map(str, data["notes"])),
        origin={"seconds": f"{data['seconds']}", "transport": str(data["transport"])},
    )


def title_of_comparison(data: Data) -> str:
    """One line that says what was compared."""
    return f"Error of one private count, epsilon = {data['epsilon']:g}"


def panel_of_comparison(data: Data) -> Panel:
    """The errors along the number of people; a legend has the slopes."""
    points = tuple(
        Point(
            str(row["model"]),
            int(row["people"]),
            row["mean_abs_error"],
            int(row["trials"]),
            row["standard_error"],
            row["predicted"],
            row["lower_bound"],
        )
        for row in sorted(data["rows"], key=lambda row: ORDER.index(row["model"]))
    )
    names = {
        model: f"{COMPARED[model].title}: measured, slope {slope(fitted)}"
        for model, fitted in data["slopes"].items()
        if fitted is not None
    }
    measure = "mean |error| of the count, in people"
    return Panel(f"epsilon = {data['epsilon']:g}", "people n", measure, points, names=names)


def _asked_of_comparison(data: Data, models: Iterable[str]) -> Facts:
    return {
        "asked": "how many people have a bit set, among made-up people",
        "trust models": ", ".join(models),
        "epsilon": f"{data['epsilon']:g} (nats per person and count)",
        **{str(model): str(text) for model, text in data.get("settings", {}).items()},
        "transport": str(data["transport"]),
    }


def _all_numbers(panel: Panel) -> Table:
    columns = ("model", "people", "mean |error|", "predicted", "ratio", "lower bound", "trials")
    rows = tuple(
        (p.series, p.parameter, p.value, p.predicted, p.ratio, p.bound, p.trials) for p in panel.points
    )
    return Table(columns, rows, note="Mean |error| is in people; ratio is measured over predicted.")


def _summary(points: Iterable[Point]) -> str:
    """The message in one or two sentences, from the largest n that both protocols without a trusted party have."""
    errors = {(point.series, point.parameter): point.value for point in points}
    local, shared, shuffled = LocalOracle.model, SharedOracle.model, ShuffledOracle.model
    common = [n for model, n in errors if model == local and (shared, n) in errors]
    if not common:
        return "The error of each trust model, measured and predicted."
    people = max(common)
    mixed = errors.get((shuffled, people))
    told = (
        f"With {people:,} people the local model is off by {number(errors[local, people])} on average, the shared "
        f"curator by {number(errors[shared, people])}, at the same epsilon; in neither does anybody see a record."
    )
    return (
        told if mixed is None else f"{told} Mixed by a shuffler, local reports are off by {number(mixed)}."
    )


def story_of_demonstration(source: str, data: Data) -> Story:
    """What one trust model can do and another cannot (section 12.1), or what an analyst learns from answers."""
    separation = "points" in data
    told = [{**data, "title": f"epsilon = {data['epsilon']:g}"}] if separation else data["panels"]
    panels = tuple(_panel(panel) for panel in told)
    privacy = data["privacy"] if separation else ()
    note = _BARS if separation and any(point.error is not None for point in panels[0].points) else ""
    return Story(
        source,
        str(data["title"]),
        _asked_of_separation(data)
        if separation
        else {"asked": "answers about made-up people, in one process; nobody's agent is attacked"},
        (
            Group(
                panels[0].measure.capitalize() if separation else "What the attacker learns", note, panels
            ),
        ),
        data,
        promises=tuple(promise_of([claim]) for claim in privacy),
        about_promises=_ONE_TRIAL if separation else _NOTHING,
        cells=_people(panels[0]) if separation else None,
        notes=tuple(map(str, data["notes"])),
    )


def _asked_of_separation(data: Data) -> Facts:
    return {
        "trust models": ", ".join(str(claim["model"]) for claim in data["privacy"]),
        "epsilon": f"{data['epsilon']:g} (nats per person)",
        "measured": str(data["measure"]),
    }


def _panel(panel: Data) -> Panel:
    points = tuple(
        Point(
            str(point["series"]),
            point["parameter"],
            point["value"],
            int(point["trials"]),
            point.get("error"),
            point.get("predicted"),
            people=int(point["people"]) if "people" in point else None,
        )
        for point in panel["points"]
    )
    return Panel(str(panel["title"]), str(panel["parameter"]), str(panel["measure"]), points)


def _people(panel: Panel) -> Table:
    rows = tuple((point.parameter, point.series, point.people) for point in panel.points)
    return Table((panel.parameter, "series", "people"), rows, texts=(1,))
