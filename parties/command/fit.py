"""`localdp fit`: a learner, fitted to people's records where they are, under any trust model.

Checked in tests/integration/test_verb_commands.py.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from parties.command.arguments import AnywayOption, AskingMany, JsonOption, SettingsOption
from parties.command.declaring import command


@command
def fit(
    learner: Annotated[
        str,
        typer.Argument(
            help="boosting, conjunction, decision-tree, halfspace, k-means, linear-regression, "
            "logistic-regression, naive-bayes, parity, pca; or one of your own, module:Class."
        ),
    ],
    asking: AskingMany,
    features: Annotated[
        str | None,
        typer.Option(help="Columns to learn from, separated by commas; all it can use, unless told."),
    ] = None,
    target: Annotated[str | None, typer.Option(help="The column to predict.")] = None,
    settings: SettingsOption = None,
    anyway: AnywayOption = False,
    out: Annotated[Path | None, typer.Option(help="File for what was learned, as JSON.")] = None,
    json: JsonOption = False,
) -> None:
    """Fit a learner to the records, where they are.

    It tells what was learned, what that cost each person and what is promised.
    """
    from localdp.experiments.catalogue import LearnerTask
    from parties.command.asking import asked, terms_of
    from parties.command.learning import parameters_of, print_learned
    from parties.command.options import names

    columns = None if features is None else list(names(features))
    chosen = {
        name: value for name, value in (("features", columns), ("target", target)) if value is not None
    }
    patient = {"check_signal": False} if anyway else {}
    task = LearnerTask(learner, {**parameters_of(settings or ()), **chosen, **patient})
    with asked(asking, task.check) as federation:
        fitted = federation.fit(task.learner(), **terms_of(asking))
    print_learned(learner, fitted, out, json)
