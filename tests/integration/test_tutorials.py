"""Every page with something to type, typed as it stands.

`tests/support/documents.py` says how a page is run, and lists the few blocks that are not.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from localdp.errors import InvalidParameter
from parties.agent.config import load_config
from parties.experiments.reading import load_experiment
from tests.support.documents import (
    EXEMPT,
    blocks_of,
    files,
    page_name,
    pages,
    run,
    script,
    shell_blocks,
    with_free_ports,
)
from tests.support.processes import ROOT, stage

SECONDS = 240.0
LONG_SECONDS = 1800.0
SHORT = ("agents.md", "shares.md", "tutorial.md")


def typed() -> list[Path]:
    """The pages with something to type."""
    return [path for path in pages() if shell_blocks(path.read_text(), page_name(path))]


def succeeds(page: Path, directory: Path, seconds: float) -> None:
    with stage(directory) as made:
        done = run(page, made, seconds)
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
        assert not made.process_ids()


@pytest.mark.parametrize("page", [path for path in typed() if path.name in SHORT], ids=page_name)
def test_a_page_can_be_typed_as_it_stands(page: Path, tmp_path: Path) -> None:
    succeeds(page, tmp_path, SECONDS)


@pytest.mark.nightly
@pytest.mark.parametrize("page", [path for path in typed() if path.name not in SHORT], ids=page_name)
def test_a_longer_page_can_be_typed_as_it_stands(page: Path, tmp_path: Path) -> None:
    succeeds(page, tmp_path, LONG_SECONDS)


@pytest.mark.parametrize("page", pages(), ids=page_name)
def test_every_block_with_commands_is_typed_or_says_why_not(page: Path) -> None:
    for block in blocks_of(page.read_text(), page_name(page)):
        if block.has_commands and not block.exempt:
            assert block.language == "sh", (
                f"write ```sh, or say in EXEMPT why it is not typed: {block.text}"
            )
            assert page in typed()


def test_the_register_of_exceptions_is_about_blocks_that_are_there() -> None:
    found = [block for page in pages() for block in blocks_of(page.read_text(), page_name(page))]
    for (page, first), why in EXEMPT.items():
        (only,) = [one for one in found if one.page == page and one.text.startswith(first)]
        assert only.has_commands and why
        for name in re.findall(r"(?:tests|docs)/\S+\.(?:py|md)", why):
            assert (ROOT / name).exists()


@pytest.mark.parametrize("fence", ["sh", "bash", "", "console"])
def test_a_new_block_that_is_not_typed_would_be_noticed(fence: str) -> None:
    (block,) = blocks_of(f"```{fence}\n$ localdp doctor\nlocaldp ask smoker\n```\n", "docs/new.md")
    assert block.has_commands and not block.exempt


def loaded(page: str, text: str, directory: Path) -> object:
    """What a configuration says: an experiment, or the page's own with another ending."""
    path = directory / "shown.toml"
    whole = files(page).get("agent.toml")
    if whole is None:
        path.write_text(text)
        return load_experiment(path)
    path.write_text(whole.partition("[listen]")[0] + text)
    return load_config(path)


@pytest.mark.parametrize("page", pages(), ids=page_name)
def test_every_configuration_that_is_shown_is_one(page: Path, tmp_path: Path) -> None:
    for block in blocks_of(page.read_text()):
        if block.language == "toml" and not block.title:
            assert loaded(page.read_text(), block.text, tmp_path)


@pytest.mark.parametrize("page", pages(), ids=page_name)
def test_every_file_that_is_shown_whole_is_a_configuration(page: Path, tmp_path: Path) -> None:
    for name, text in files(page.read_text()).items():
        if name.endswith(".toml") and "[data]" in text and name != "every-key.toml":  # that has stand-ins
            (tmp_path / name).write_text(text)
            assert load_config(tmp_path / name)


def test_a_configuration_with_a_mistake_would_be_noticed(tmp_path: Path) -> None:
    page = (ROOT / "docs/agents.md").read_text()
    with pytest.raises(InvalidParameter, match="unknown"):
        loaded(page, '[listen]\nadress = "127.0.0.1:7000"\n', tmp_path)


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
