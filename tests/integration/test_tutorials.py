"""The tutorial, the how-tos and the page of the command line, typed as they stand.

`tests/support/documents.py` says how a page is run.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.documents import files, run, script, shell_blocks, with_free_ports
from tests.support.processes import ROOT, stage

SECONDS = 240.0
LONG = ("command-line.md", "howto-deploy.md")
PAGES = [
    path
    for path in sorted((ROOT / "docs").glob("*.md"))
    if path.name in ("tutorial.md", "command-line.md") or path.name.startswith("howto-")
]
RUN = [path for path in PAGES if shell_blocks(path.read_text())]


def succeeds(page: Path, directory: Path) -> None:
    with stage(directory) as made:
        done = run(page, made, SECONDS)
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
        assert not made.process_ids()


@pytest.mark.parametrize(
    "page", [path for path in RUN if path.name not in LONG], ids=lambda path: path.name
)
def test_a_page_can_be_typed_as_it_stands(page: Path, tmp_path: Path) -> None:
    succeeds(page, tmp_path)


@pytest.mark.nightly
@pytest.mark.parametrize("page", [path for path in RUN if path.name in LONG], ids=lambda path: path.name)
def test_a_longer_page_can_be_typed_as_it_stands(page: Path, tmp_path: Path) -> None:
    succeeds(page, tmp_path)


def test_the_pages_that_are_to_be_typed_are() -> None:
    assert {path.name for path in RUN} >= {"tutorial.md", *LONG}


# `exit` in brackets stands for a command: what is tested here is the runner, not localdp.
BROKEN = {
    "a command that is not there": "localdpp ask 'smoker'",
    "a command that fails": "(exit 2)",
    "an exit code that is not the one told": "(exit 2)     # exit code 5",
    "a failure that is told and does not happen": "(exit 0)     # exit code 1",
    "a failure within a pipe": "(exit 2) | cat",
}


@pytest.mark.parametrize("mistake", BROKEN)
def test_a_page_with_a_mistake_is_noticed(mistake: str, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"```sh\n{BROKEN[mistake]}\ntrue\n```\n")
    with stage(tmp_path) as made:
        assert run(page, made, 60).returncode != 0


def test_an_exit_code_that_is_told_is_expected(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```sh\n(exit 2)     # exit code 2\n```\n")
    with stage(tmp_path) as made:
        assert run(page, made, 60).returncode == 0


def test_files_and_ports_of_a_page_are_found() -> None:
    page = (
        '```toml title="north.toml"\naddress = "127.0.0.1:7101"\n```\n'
        "```sh\nsed 's/north/south/; s/7101/7102/' north.toml > south.toml\n"
        "localdp agent run north.toml &\nlocaldp agent run south.toml &\n```\n```console\n$ reboot\n```\n"
    )
    free = with_free_ports(page)
    assert "7101" not in free and "7102" not in free
    assert files(page) == {"north.toml": 'address = "127.0.0.1:7101"\n'}
    assert "for port in 7101 7102" in script(page)
    assert "reboot" not in script(page)
