"""Where progress goes: a picture that is drawn again and again on a terminal, lines elsewhere, JSON for machines.

Always standard error; standard output is for results.  The picture is transient: it is gone when the work is done.
It is drawn `REFRESHES_PER_SECOND` times a second from whatever the model is by then, which is frozen, so that the thread
that draws needs no lock.  Lines of JSON are {"schema_version": 1, "event": ..., ...}, in ASCII.
"""

from __future__ import annotations

import json as json_text
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Literal

from rich.console import Console, RenderableType
from rich.live import Live

from parties.view.bars import REFRESHES_PER_SECOND

SCHEMA_VERSION = 1
Kind = Literal["picture", "lines", "json"]


def kind_of(console: Console, json: bool) -> Kind:
    """How progress is shown here.  rich takes a file for a terminal when FORCE_COLOR is set; a file is never redrawn."""
    if json:
        return "json"
    return "picture" if console.is_interactive and console.file.isatty() else "lines"


@contextmanager
def picture(console: Console, draw: Callable[[], RenderableType]) -> Iterator[None]:
    """Draw again and again while the body runs, and leave nothing."""
    with Live(
        console=console,
        get_renderable=draw,
        refresh_per_second=REFRESHES_PER_SECOND,
        transient=True,
        redirect_stdout=False,
    ):
        yield


def print_line(console: Console, text: str) -> None:
    """One line of text, as it is."""
    console.print(text, soft_wrap=True, markup=False, highlight=False)


def print_event(console: Console, event: str, data: Mapping[str, object]) -> None:
    """One line of JSON."""
    line = json_text.dumps({"schema_version": SCHEMA_VERSION, "event": event, **data}, allow_nan=False)
    console.file.write(line + "\n")
    console.file.flush()


def tell(console: Console, text: str, json: bool) -> None:
    """A remark, as a line or as JSON."""
    if json:
        print_event(console, "remark", {"message": text})
    else:
        print_line(console, text)
