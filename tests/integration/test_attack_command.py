"""`localdp attack` as a user meets it."""

from __future__ import annotations

import io
import json
from pathlib import Path
from xml.etree import ElementTree

from rich.console import Console

from localdp.experiments.panels import Demonstration, Panel, Point
from parties.report.demonstration import print_demonstration, write_demonstration
from parties.report.drawing import panels_svg
from tests.support.processes import envelope, localdp

SHOWN = Demonstration(
    "averaging",
    "Averaging",
    (
        Panel(
            "panel one",
            "times",
            "fraction",
            (
                Point("a", 1, 0.5, 3, predicted=0.51),
                Point("a", 10, 0.75, 3, predicted=0.7),
                Point("at most", 1, 0.9, 1),
            ),
        ),
        Panel("panel two", "n", "fraction", (Point("b", 100, 0.25, 3),)),
    ),
    ("a note",),
)


def test_an_attack_prints_one_envelope_and_writes_its_files(tmp_path: Path) -> None:
    out = tmp_path / "out"
    result = localdp(
        tmp_path,
        "attack",
        "averaging",
        "--trials",
        "1",
        "--insecure-seed",
        "1",
        "--json",
        "--out",
        str(out),
    )
    told = envelope(result)
    assert told["exit_code"] == 0, told
    assert told["data"]["name"] == "averaging"
    assert {path.name for path in out.iterdir()} == {"averaging.json", "averaging.svg"}
    assert json.loads((out / "averaging.json").read_text()) == told["data"]


def test_an_attack_that_is_not_there_is_a_usage_error(tmp_path: Path) -> None:
    assert envelope(localdp(tmp_path, "attack", "bribery", "--json"))["exit_code"] == 2


def test_the_drawing_is_the_same_bytes_and_names_every_series() -> None:
    svg = panels_svg(SHOWN.panels, SHOWN.title)
    assert svg == panels_svg(SHOWN.panels, SHOWN.title)
    ElementTree.fromstring(svg)  # noqa: S314  (our own document)
    for words in ("panel one", "panel two", "predicted", "at most", "times", "fraction"):
        assert words in svg
    assert "dc:date" not in svg


def test_the_tables_show_what_is_measured_beside_what_is_predicted(tmp_path: Path) -> None:
    file = io.StringIO()
    print_demonstration(SHOWN, Console(file=file, width=100))
    for words in ("0.500", "0.510", "0.750", "0.700", "0.900", "0.250", "a note"):
        assert words in file.getvalue()
    numbers, _ = write_demonstration(SHOWN, tmp_path)
    assert json.loads(numbers.read_text())["panels"][0]["points"][0]["predicted"] == 0.51
