"""What the README and the examples show is run here."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SNIPPETS = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)


def run(arguments: list[str]) -> str:
    done = subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, check=False, timeout=120, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("snippet", SNIPPETS)
def test_a_snippet_of_the_readme_runs(snippet: str) -> None:
    assert "±" in run(["-c", snippet])


def test_the_readme_has_a_snippet() -> None:
    assert SNIPPETS


def blocks(document: Path) -> list[str]:
    """The Python of a document, in order: later blocks may use what earlier ones made."""
    return re.findall(r"```python\n(.*?)```", document.read_text(), re.DOTALL)


DOCUMENTS = [document for document in sorted((ROOT / "docs").glob("*.md")) if blocks(document)]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: document.name)
def test_the_python_of_a_document_runs(document: Path) -> None:
    run(["-c", "\n".join(blocks(document))])


def test_the_plans_that_a_page_shows_are_the_plans() -> None:
    """Column by column: how wide a terminal is decides how far they stand apart."""
    text = (ROOT / "docs/noise.md").read_text()
    (block,) = re.findall(r"```\n\$ localdp (shared explain .*)\n((?:.*\n)*?)```", text)
    shown = run(["-m", "localdp", *block[0].split()])
    words = [line.split() for line in shown.splitlines() if line.strip(" ─")]
    for line in block[1].splitlines():
        assert line.split() in words, line


def test_the_example_answers_three_questions_under_every_trust_model() -> None:
    shown = run(["examples/three_questions.py"])
    for model in ("exact", "curator", "local", "shared"):
        row = next(line for line in shown.splitlines() if line.startswith(f"│ {model}"))
        assert row.count("±") == 3
