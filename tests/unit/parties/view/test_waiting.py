"""What is quick stays quiet, and what takes long is said on standard error, in a way that fits where it goes."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from parties.view.waiting import waiting
from tests.support.processes import wait_until

LONG = 3600.0


class Screen(io.StringIO):
    """What a terminal is given."""

    def isatty(self) -> bool:
        """It is one."""
        return True


def terminal() -> Console:
    return Console(file=Screen(), force_terminal=True, width=60, _environ={"TERM": "xterm"})


def told(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


@pytest.mark.parametrize("console", [Console(file=io.StringIO(), width=60), terminal()])
def test_what_is_quick_says_nothing(console: Console) -> None:
    with waiting(console, seconds=LONG) as tell:
        tell("connecting")
        tell("asking")
    assert told(console) == ""


def test_elsewhere_than_on_a_terminal_it_is_a_line_for_everything_new_that_is_waited_for() -> None:
    console = Console(file=io.StringIO(), width=20)
    with waiting(console, seconds=0.0) as tell:
        tell("waiting for north, which takes long")
        wait_until(lambda: "north" in told(console), "the line is there")
        for _ in range(3):
            tell("compiling [1 of 6]\x1b[31m")
        wait_until(lambda: "compiling" in told(console), "the next line is there")
    assert told(console).splitlines() == ["waiting for north, which takes long", "compiling [1 of 6] [31m"]


def test_on_a_terminal_it_turns_and_vanishes() -> None:
    console = terminal()
    with waiting(console, seconds=0.0) as tell:
        for text in ("waiting for north", "compiling"):
            tell(text)
            wait_until(lambda text=text: text in told(console), "it is drawn")  # type: ignore[misc]
    assert told(console).endswith("\x1b[2K"), "the line is erased"


def test_a_failure_passes_through_and_nothing_is_said_after_it() -> None:
    console = Console(file=io.StringIO())
    with pytest.raises(KeyboardInterrupt), waiting(console, seconds=LONG):
        raise KeyboardInterrupt
    assert told(console) == ""
