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


@pytest.mark.parametrize("console", [Console(file=io.StringIO(), width=60), terminal()])
def test_what_is_quick_says_nothing(console: Console) -> None:
    with waiting("connecting", console, seconds=LONG) as tell:
        tell("asking")
    assert isinstance(console.file, io.StringIO) and console.file.getvalue() == ""


def test_elsewhere_than_on_a_terminal_it_is_a_line_for_everything_that_is_waited_for() -> None:
    console = Console(file=io.StringIO(), width=20)
    assert isinstance(console.file, io.StringIO)
    with waiting("waiting for north, which takes long", console, seconds=0.0) as tell:
        wait_until(lambda: "north" in console.file.getvalue(), "the line is there")  # type: ignore[attr-defined]
        tell("compiling [1 of 6]\x1b[31m")
        tell("compiling [1 of 6]\x1b[31m")
    assert console.file.getvalue().splitlines() == [
        "waiting for north, which takes long",
        "compiling [1 of 6] [31m",
    ]


def test_on_a_terminal_it_turns_and_vanishes() -> None:
    console = terminal()
    with waiting("waiting for north", console, seconds=0.0) as tell:
        wait_until(lambda: "north" in console.file.getvalue(), "it is drawn")  # type: ignore[attr-defined]
        tell("compiling")
        wait_until(lambda: "compiling" in console.file.getvalue(), "it is drawn again")  # type: ignore[attr-defined]
    assert isinstance(console.file, io.StringIO)
    assert console.file.getvalue().endswith("\x1b[2K"), "the line is erased"


def test_a_failure_passes_through_and_nothing_is_said_after_it() -> None:
    console = Console(file=io.StringIO())
    with pytest.raises(KeyboardInterrupt), waiting("waiting", console, seconds=LONG):
        raise KeyboardInterrupt
    assert isinstance(console.file, io.StringIO) and console.file.getvalue() == ""
