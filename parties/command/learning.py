"""What a learner or a release has learned, in words and as data; and its parameters, as they are typed.

Whatever ends in an underscore is what was learned, as scikit-learn has it, so a learner of one's own is told as well.
Checked in tests/unit/parties/command/test_learning.py.
"""

from __future__ import annotations

import json as json_text
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from rich import box
from rich.table import Table

from localdp.algorithms.definition import Learner
from localdp.algorithms.release.iterative import IterativeConstruction
from localdp.algorithms.release.marginals import MarginalRelease
from localdp.algorithms.release.ranges import RangeRelease
from localdp.asking.writing import number, percent, price, with_error
from localdp.errors import InvalidParameter
from localdp.oracles.definition import LEVEL, normal_width
from parties.command.answers import epsilon_data
from parties.command.output import plain_path, print_ok, print_prose, print_whole, stdout_console
from parties.durable import Data, write_atomically

if TYPE_CHECKING:
    from rich.console import Console

QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)
_APART = {"cost_", "claim_", "plan_", "n_features_in_", "feature_names_in_"}  # told in words of their own
_BY_FEATURE = {
    "cluster_centers": "centre",
    "components": "component",
}  # a row each, a column for each feature
_DIGITS = 4
_LONGEST = 160  # characters of what is told by name


def parameters_of(settings: Sequence[str]) -> Data:
    """NAME=VALUE, values as JSON has them; what is not JSON is a text."""
    found: Data = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals or not name.isidentifier():
            raise InvalidParameter(f"{setting!s:.60} is not a setting; write NAME=VALUE, such as depth=3")
        try:
            found[name] = json_text.loads(text)
        except ValueError:
            found[name] = text
    return found


def learned(learner: Learner) -> Data:
    """What was learned, by name, as plain data."""
    if isinstance(learner, RangeRelease):
        return {"edges": _plain(learner.edges_), "mass_below": _plain(learner.prefix_)}
    if isinstance(learner, MarginalRelease):
        return {"marginals": [_marginal(learner, names) for names in _tables(learner)]}
    public = {name: _plain(value) for name, value in vars(learner).items() if _is_learned(name)}
    return {name.rstrip("_"): value for name, value in public.items() if value is not None}


def print_learned(name: str, learner: Learner, out: Path | None, json: bool) -> None:
    """What was learned, what that cost and what was promised; also into a file, if one is named."""
    cost = learner.cost_
    data = {
        "name": name,
        "parameters": {key: _plain(value) for key, value in learner.get_params().items()},
        "learned": learned(learner),
        **epsilon_data(cost.epsilon_promised, cost.epsilon_charged),
        "rounds": cost.rounds,
        "bytes_moved": cost.bytes_moved,
        "privacy": learner.claim_.statement(),
    }
    if out is not None:
        write_atomically(out, json_text.dumps(data, indent=2, allow_nan=False) + "\n")
    if json:
        print_ok(data)
        return
    console = stdout_console()
    print_prose(console, name)
    _print_words(learner, console)
    spent = (
        "nothing"
        if learner.claim_.epsilon is None
        else f"{price(float(cost.epsilon_promised), float(cost.epsilon_charged))} of each person"
    )
    rounds = "1 round" if cost.rounds == 1 else f"{cost.rounds} rounds"
    print_prose(console, f"It took {rounds} and cost {spent}.")
    print_prose(console, learner.claim_.statement())
    if out is not None:
        print_whole(console, f"Written: {plain_path(out)}")


def _print_words(learner: Learner, console: Console) -> None:
    """The kinds that are read as a table or a tree, and everything else by name."""
    if isinstance(learner, RangeRelease):
        console.print(_quantile_table(learner))
    elif isinstance(learner, MarginalRelease):
        for names in _tables(learner):
            console.print(_marginal_table(_marginal(learner, names)))
    elif isinstance(tree := getattr(learner, "tree_", None), str):
        console.print(tree, markup=False, highlight=False)
    elif "coef" in learned(learner):
        console.print(_coefficient_table(learned(learner)))
    elif isinstance(learner, IterativeConstruction):
        console.print(_answer_table(learner))
    else:
        found = learned(learner)
        tables = {name: found.pop(name) for name in _BY_FEATURE if name in found}
        for name, rows in tables.items():
            console.print(_feature_table(_BY_FEATURE[name], found["features"], rows))
        for name, value in found.items():
            shown = _shown(value)
            told = shown if len(shown) <= _LONGEST else "many numbers, which --json and --out have"
            print_prose(console, f"{name.replace('_', ' ')}: {told}", indent=2)


def _feature_table(what: str, features: Sequence[str], rows: Sequence[Sequence[float]]) -> Table:
    table = _table(what, *features, numbers=len(features))
    for place, row in enumerate(rows, start=1):
        table.add_row(str(place), *(f"{value:.{_DIGITS}g}" for value in row))
    return table


def _answer_table(release: IterativeConstruction) -> Table:
    table = _table("query", "share")
    for query, value in zip(release.queries, release.answers_, strict=True):
        table.add_row(query, f"{100 * value:.2f} %")
    return table


def _coefficient_table(found: Data) -> Table:
    table = _table("feature", "coefficient")
    for name, value in zip(found["features"], found["coef"], strict=True):
        table.add_row(name, number(value, _DIGITS))
    if "intercept" in found:
        table.add_row("(intercept)", number(found["intercept"], _DIGITS))
    return table


def _quantile_table(release: RangeRelease) -> Table:
    table = _table("people below", release.column, f"between ({percent(LEVEL)})")
    for at in QUANTILES:
        low, high = release.quantile_interval(at, LEVEL)
        table.add_row(percent(at), f"{release.quantile(at):g}", f"{low:g} and {high:g}")
    return table


def _tables(release: MarginalRelease) -> list[tuple[str, ...]]:
    """What was wanted, or else every attribute by itself."""
    wanted = [(one,) if isinstance(one, str) else tuple(one) for one in release.wanted]
    return wanted or [(attribute.name,) for attribute in release.universe_.attributes]


def _marginal(release: MarginalRelease, names: tuple[str, ...]) -> Data:
    marginal = release.marginal(*names)
    attributes = [release.universe_.attributes[place] for place in release.universe_.places(names)]
    labels = [
        [str(value).lower() if value in (True, False) else str(value) for value in one.values]
        for one in attributes
    ]
    return {
        "attributes": list(names),
        "labels": labels,
        "shares": _plain(marginal.values),
        "half_widths": _plain(normal_width(LEVEL) * marginal.standard_errors),
    }


def _marginal_table(marginal: Data) -> Table:
    table = _table(*marginal["attributes"], f"share ({percent(LEVEL)})")
    shares, widths = np.array(marginal["shares"]), np.array(marginal["half_widths"])
    for place in np.ndindex(*shares.shape):
        cell = [labels[index] for labels, index in zip(marginal["labels"], place, strict=True)]
        table.add_row(*cell, with_error(100 * float(shares[place]), 100 * float(widths[place]), " %"))
    return table


def _table(*headings: str, numbers: int = 1) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for place, heading in enumerate(headings):
        table.add_column(
            heading, justify="right" if place >= len(headings) - numbers else "left", no_wrap=True
        )
    return table


def _is_learned(name: str) -> bool:
    return name.endswith("_") and not name.startswith("_") and name not in _APART


def _plain(value: object) -> object:
    """As JSON has it; None for what it has no word for."""
    match value:
        case np.ndarray():
            return value.tolist()
        case np.generic():
            return value.item()
        case None | bool() | int() | float() | str():
            return value
        case dict():
            return {str(key): _plain(one) for key, one in value.items()}
        case list() | tuple():
            return [_plain(one) for one in value]
    return None


def _shown(value: object) -> str:
    match value:
        case float():
            return f"{value:.{_DIGITS}g}"
        case list() if any(isinstance(one, list) for one in value):
            return "; ".join(map(_shown, value))
        case list():
            return ", ".join(map(_shown, value)) or "nothing"
    return str(value)
