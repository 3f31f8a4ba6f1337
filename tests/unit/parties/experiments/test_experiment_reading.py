"""A good file is read whole; every class of mistakes is refused in one line that names the file, the line and the key."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.errors import InvalidParameter
from localdp.experiments.catalogue import LearnerTask, QueryTask
from parties.experiments.definition import Experiment
from parties.experiments.reading import load_experiment

GOOD = """[data]
set = "made-up"
[parties]
number = 4
budget = 10
[faults]
dropouts = 0.25
[run]
models = ["curator", "local", "shared"]
query = "smoker"
epsilon = [0.5, 1]
people = [1000, 1e4]
trials = 5
[output]
directory = "here"
"""
TABLE = """[data]
path = "people.csv"
[schema]
smoker = { kind = "bit" }
age = { kind = "integer", low = 0, high = 120 }
[run]
models = ["local"]
query = "smoker"
epsilon = 1
"""
LEARNER = """[data]
set = "conjunction"
[run]
models = ["local"]
learner = "conjunction"
epsilon = 1
dimension = [4, 8]
[run.parameters]
violation = 0.1
"""


def written(directory: Path, text: str) -> Path:
    path = directory / "experiment.toml"
    path.write_text(text)
    (directory / "people.csv").write_text("smoker,age\n" + "true,30\nfalse,41\n" * 10)
    (directory / "broken.csv").write_text("smoker,age\ntrue,300\n")
    return path


def read(directory: Path, text: str) -> Experiment:
    return load_experiment(written(directory, text))


def test_a_good_file_is_read_whole(tmp_path: Path) -> None:
    experiment = read(tmp_path, GOOD)
    assert experiment.task == QueryTask("smoker")
    assert experiment.sweep.epsilons == (Epsilon.requested("0.5"), Epsilon.requested(1))
    assert experiment.sweep.people == (1000, 10_000)
    assert experiment.sweep.trials == 5
    assert experiment.sweep.insecure_seeds == ()
    assert experiment.parties.budget == Epsilon.requested(10)
    assert experiment.faults.counts(4) == (1, 0, 0)
    assert experiment.output.directory == tmp_path / "here"
    assert experiment.output.formats == ("json", "parquet")


def test_a_table_has_all_of_its_rows_unless_told(tmp_path: Path) -> None:
    assert read(tmp_path, TABLE).sweep.people == (20,)
    assert read(tmp_path, TABLE.replace("[schema]", "resample = 500\n[schema]")).sweep.people == (500,)
    more = TABLE.replace("[schema]", "resample = true\n[schema]") + "people = [10, 100]\n"
    assert read(tmp_path, more).sweep.people == (10, 100)


def test_a_learner_has_parameters_and_dimensions(tmp_path: Path) -> None:
    experiment = read(tmp_path, LEARNER)
    assert experiment.task == LearnerTask("conjunction", {"violation": 0.1})
    assert experiment.sweep.dimensions == (4, 8)


def test_options_belong_to_models(tmp_path: Path) -> None:
    text = GOOD + '[run.options.shared]\nnoise_plan = "divided"\n'
    assert read(tmp_path, text).options == {"shared": {"noise_plan": "divided"}}


def test_sizes_say_how_many_people_there_are(tmp_path: Path) -> None:
    text = GOOD.replace("number = 4", "sizes = [10, 20, 30, 40]").replace("people = [1000, 1e4]\n", "")
    assert read(tmp_path, text).sweep.people == (100,)


def test_the_same_text_has_the_same_digest_and_another_another(tmp_path: Path) -> None:
    assert read(tmp_path, GOOD).digest == read(tmp_path, GOOD).digest
    assert read(tmp_path, GOOD).digest != read(tmp_path, GOOD + "# more\n").digest


BAD: dict[str, tuple[str, str, str, int, str]] = {
    # what it is: file, what stands there, what is written instead, line, what is told
    "no toml": (GOOD, "trials = 5", "trials =", 13, "not TOML"),
    "an unknown section": (GOOD, "[faults]", "[fault]", 6, "fault: unknown; an experiment has data"),
    "an unknown key": (GOOD, "trials = 5", "trails = 5", 13, "run.trails: unknown; [run] has"),
    "a section that is missing": (GOOD, '[data]\nset = "made-up"\n', "", 1, "data: missing"),
    "a section that is a value": (
        GOOD,
        "[faults]\ndropouts = 0.25\n",
        "[faults.x]\n",
        6,
        "faults.x: unknown",
    ),
    "neither set nor path": (TABLE, 'path = "people.csv"\n', "resample = 5\n", 1, "data.set: missing"),
    "both set and path": (TABLE, 'path = "people.csv"', 'path = "p"\nset = "wine"', 3, "data.set: missing"),
    "a set that is not there": (
        GOOD,
        '"made-up"',
        '"made-upp"',
        2,
        "no set is called made-upp; there are made-up",
    ),
    "one of several sets that is not there": (
        GOOD,
        '"made-up"',
        '["made-up", "wines"]',
        2,
        "no set is called wines; there are made-up",
    ),
    "the same set twice": (GOOD, '"made-up"', '["made-up", "made-up"]', 2, "stands there twice"),
    "baselines of a query": (GOOD, "trials = 5", "baselines = true", 13, "run.baselines: only of boosting"),
    "baselines that are no truth value": (
        GOOD,
        "trials = 5",
        "baselines = 1",
        13,
        "run.baselines: true if",
    ),
    "a set with a schema": (
        GOOD,
        "[parties]",
        '[schema]\nx = { kind = "bit" }\n[parties]',
        3,
        "goes with data.path",
    ),
    "made-up people drawn again": (GOOD, "[parties]", "resample = 5\n[parties]", 3, "data.resample"),
    "a table that is not there": (TABLE, "people.csv", "peple.csv", 2, "data.path: there is no file"),
    "a table of another kind": (TABLE, "people.csv", "experiment.toml", 2, "a table is one of"),
    "a value outside of its bounds": (TABLE, "people.csv", "broken.csv", 2, "age"),
    "a table without a schema": (
        TABLE,
        '[schema]\nsmoker = { kind = "bit" }\n',
        "[run.parameters]\n",
        1,
        "schema",
    ),
    "a misspelt column of the schema": (
        TABLE,
        "smoker = {",
        "smokr = {",
        2,
        "no column 'smokr'; it has smoker, age",
    ),
    "a kind that is not there": (
        TABLE,
        '"bit"',
        '"boolean"',
        4,
        "schema.smoker: must have a kind among bit",
    ),
    "a bound that is missing": (TABLE, ", high = 120", "", 5, "schema.age: must have"),
    "a bound that is a text": (TABLE, "high = 120", 'high = "old"', 5, "schema.age"),
    "a column that is no table": (TABLE, '{ kind = "bit" }', '"bit"', 4, "schema.smoker: a table such as"),
    "a number of parties that is a text": (
        GOOD,
        "number = 4",
        'number = "4"',
        4,
        "parties.number: a whole number",
    ),
    "no parties": (GOOD, "number = 4", "number = 0", 4, "parties.number: a whole number from 1"),
    "number and sizes": (GOOD, "number = 4", "number = 4\nsizes = [5]", 5, "either number or sizes"),
    "sizes that do not add up": (GOOD, "number = 4", "sizes = [5, 6]", 4, "they add up to 11"),
    "sizes that are no sizes": (
        GOOD,
        "number = 4",
        "sizes = [5, 0]",
        4,
        "parties.sizes: a list of whole numbers",
    ),
    "one share server": (
        GOOD,
        "number = 4",
        "share_servers = 1",
        4,
        "parties.share_servers: a whole number from 2",
    ),
    "a budget of 0": (GOOD, "budget = 10", "budget = 0", 5, "parties.budget: epsilon must be"),
    "a fraction above 1": (GOOD, "dropouts = 0.25", "dropouts = 25", 7, "faults.dropouts: a fraction"),
    "nobody left": (GOOD, "dropouts = 0.25", "stragglers = 0.9", 7, "somebody has to answer"),
    "dropouts behind a shuffler": (GOOD, '"curator"', '"shuffled"', 7, "leave shuffled out of run.models"),
    "a model that is not there": (GOOD, '"curator"', '"curater"', 9, "curater is none of exact, curator"),
    "a model twice": (GOOD, '"curator"', '"local"', 9, "the same value stands there twice"),
    "no models": (
        GOOD,
        'models = ["curator", "local", "shared"]\n',
        "",
        8,
        "run.models: missing; write models =",
    ),
    "no task": (GOOD, 'query = "smoker"\n', "", 8, "run.query: missing; write one of"),
    "two tasks": (
        GOOD,
        'query = "smoker"',
        'query = "smoker"\nlearner = "pca"',
        11,
        "there is query already",
    ),
    "a query that is a number": (GOOD, 'query = "smoker"', "query = 5", 10, "run.query: a text in quotes"),
    "a misspelt column of the query": (GOOD, 'query = "smoker"', 'query = "smokr"', 10, "smokr"),
    "a query of the wrong type": (GOOD, 'query = "smoker"', 'query = "age + 1"', 10, "run.query"),
    "no epsilon": (GOOD, "epsilon = [0.5, 1]\n", "", 8, "run.epsilon: missing; write epsilon = 1"),
    "epsilon 0": (
        GOOD,
        "epsilon = [0.5, 1]",
        "epsilon = [0.5, 0]",
        11,
        "run.epsilon: epsilon must be at least",
    ),
    "an epsilon that is true": (
        GOOD,
        "epsilon = [0.5, 1]",
        "epsilon = true",
        11,
        "run.epsilon: a number of nats",
    ),
    "no epsilons": (GOOD, "epsilon = [0.5, 1]", "epsilon = []", 11, "run.epsilon: one value, or a list"),
    "fewer people than parties": (
        GOOD,
        "people = [1000, 1e4]",
        "people = 3",
        12,
        "3 people cannot be dealt",
    ),
    "half a person": (GOOD, "people = [1000, 1e4]", "people = 1.5", 12, "run.people: a whole number"),
    "more people than rows": (
        TABLE,
        "epsilon = 1",
        "epsilon = 1\npeople = 21",
        10,
        "the table has 20 rows; say resample",
    ),
    "a dimension where there is none": (
        GOOD,
        "trials = 5",
        "dimension = 4",
        13,
        "run.dimension: goes with one of",
    ),
    "a dimension too small": (LEARNER, "[4, 8]", "[2]", 7, "run.dimension: a whole number from 3"),
    "a learner that is not there": (
        LEARNER,
        '"conjunction"\nepsilon',
        '"perceptron"\nepsilon',
        5,
        "there are boosting",
    ),
    "a release that is a learner": (LEARNER, "learner", "release", 5, "no release is called conjunction"),
    "a parameter that is not there": (
        LEARNER,
        "violation",
        "violations",
        9,
        "run.parameters.violations: unknown",
    ),
    "parameters of a query": (GOOD, "trials = 5", "parameters.x = 5", 13, "run.parameters"),
    "a target that is not there": (
        LEARNER,
        "violation = 0.1",
        'target = "labl"',
        5,
        "target 'labl' is no column",
    ),
    "an option of no model": (GOOD, "trials = 5", "options.magic.x = 5", 13, "run.options.magic: unknown"),
    "an option of another model": (
        GOOD,
        "trials = 5",
        "options.local.delta = 5",
        13,
        "options.local.delta: unknown",
    ),
    "a seed below 0": (
        GOOD,
        "trials = 5",
        "insecure_seeds = -1",
        13,
        "run.insecure_seeds: a whole number from 0",
    ),
    "a format that is not there": (
        GOOD,
        'directory = "here"',
        'formats = ["excel"]',
        15,
        "excel is none of json",
    ),
    "a directory that is a number": (
        GOOD,
        'directory = "here"',
        "directory = 5",
        15,
        "output.directory: a text",
    ),
}


@pytest.mark.parametrize(("text", "good", "bad", "line", "told"), BAD.values(), ids=BAD)
def test_a_mistake_is_told_in_one_line_with_its_place(
    tmp_path: Path, text: str, good: str, bad: str, line: int, told: str
) -> None:
    assert good in text
    with pytest.raises(InvalidParameter) as refused:
        read(tmp_path, text.replace(good, bad))
    message = str(refused.value)
    assert message.startswith(f"{tmp_path / 'experiment.toml'}:{line}: "), message
    assert told in message
    assert "\n" not in message


def test_a_release_without_what_it_needs_is_refused(tmp_path: Path) -> None:
    text = GOOD.replace('query = "smoker"', 'release = "ranges"')
    with pytest.raises(InvalidParameter, match=r"run\.parameters: ranges needs column"):
        read(tmp_path, text)


def test_the_example_is_a_good_file() -> None:
    root: Any = Path(__file__).resolve().parents[4]
    assert load_experiment(root / "examples/experiment.toml").sweep.trials == 100
