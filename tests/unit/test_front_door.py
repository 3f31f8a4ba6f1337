"""`import localdp`: quick, lazy, and every name of it is there, has a docstring, and is what it says."""

from __future__ import annotations

import doctest
import inspect
import subprocess
import sys
from importlib.metadata import version

import pytest

import localdp
from parties.federated.verbs import Verbs

HEAVY = ("numpy", "grpc", "cryptography", "parties", "rich", "typer")
VERBS = (
    "count",
    "share",
    "mean",
    "sum",
    "quantile",
    "median",
    "histogram",
    "crosstab",
    "top",
    "fit",
    "release",
)


def test_importing_it_loads_nothing_heavy() -> None:
    code = f"import sys, localdp; print([name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == "[]"


def test_it_takes_less_than_fifty_milliseconds() -> None:
    code = "import localdp"
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", code],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    rows = [line.split("|") for line in done.stderr.splitlines() if line.endswith("| localdp")]
    assert int(rows[-1][1]) < 50_000  # microseconds, with all that it imports


@pytest.mark.parametrize("name", localdp.__all__)
def test_every_name_is_there_and_says_what_it_is(name: str) -> None:
    found = getattr(localdp, name)
    assert name in dir(localdp)
    if name == "__version__":
        assert found == version("localdp")
    elif callable(found):
        assert inspect.getdoc(found)


def test_the_names_are_few_and_no_other_is_there() -> None:
    assert 25 <= len(localdp.__all__) <= 48
    with pytest.raises(AttributeError, match="smokers"):
        _ = localdp.smokers


def test_launching_and_connecting_are_a_federation_s() -> None:
    assert localdp.launch == localdp.Federation.launch
    assert localdp.connect == localdp.Federation.connect
    assert localdp.simulate == localdp.Federation.simulate


@pytest.mark.parametrize("name", VERBS)
def test_every_verb_says_what_it_takes_and_its_example_runs(name: str) -> None:
    verb = getattr(Verbs, name)
    parameters = inspect.signature(verb).parameters
    assert {"epsilon", "model", "options"} <= set(parameters)
    examples = doctest.DocTestFinder().find(verb, name)
    assert name == "median" or any(example.examples for example in examples)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    for example in examples:
        runner.run(example)
    assert runner.summarize(verbose=False).failed == 0
