"""A real browser, without a window: what it makes of a page, what it complains of, and how wide things become.

Chromium, wherever it is installed; nothing is loaded from anywhere, and its profile is thrown away.
"""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_NAMES = ("chromium", "chromium-browser", "google-chrome")
_SECONDS = 60
_OPTIONS = (
    "--headless=new",
    "--no-sandbox",  # a superuser has none to give
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
    "--hide-scrollbars",
    "--enable-logging=stderr",
    "--v=0",
)
_COMPLAINT = re.compile(r":(?:CONSOLE|ERROR:CONSOLE)[:(].*", re.IGNORECASE)

# Opens every part of the page and says how wide it is, what sticks out of it, and which colours it has.
_MEASURE = """
const frame = document.getElementById("page");
frame.addEventListener("load", () => {
  const page = frame.contentDocument, root = page.documentElement;
  page.querySelectorAll("details").forEach(part => { part.open = true; });
  const inside = one => one.closest(".scroll, pre, svg") !== null;
  const out = [...page.body.querySelectorAll("*")].filter(
    one => !inside(one) && one.getBoundingClientRect().right > root.clientWidth + 0.5);
  const style = frame.contentWindow.getComputedStyle(page.body);
  document.getElementById("told").textContent = JSON.stringify({
    width: root.clientWidth, content: root.scrollWidth, sticking: out.map(one => one.tagName + " " + one.className),
    boxes: [...page.querySelectorAll(".scroll")].map(box => box.clientWidth),
    plots: [...page.querySelectorAll("figure svg")].map(plot => plot.getBoundingClientRect().width),
    smallest: Math.min(...[...page.querySelectorAll("svg text")].map(text => text.getBoundingClientRect().height)),
    paper: style.backgroundColor, ink: style.color});
});
"""


@dataclass(frozen=True, slots=True)
class Seen:
    """What the browser made of a page."""

    dom: str
    complaints: list[str]  # of its console


def browser() -> str:
    """Where it is; a test without it fails, and says what to do."""
    found = next((path for name in _NAMES if (path := shutil.which(name))), None)
    assert found is not None, "no browser: run .ci/browser as root, or install the package chromium"
    return found


def looked_at(page: Path | str, profile: Path, *options: str, seconds: float = _SECONDS) -> Seen:
    """The document after loading, and the console; of a file, or of an address on loopback."""
    address = page if isinstance(page, str) else page.as_uri()
    command = [browser(), *_OPTIONS, f"--user-data-dir={profile}", *options, "--dump-dom", address]
    done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return Seen(done.stdout, _COMPLAINT.findall(done.stderr))


def measured(page: str, width: int, directory: Path, *, dark: bool = False) -> dict[str, Any]:
    """A page in a frame so many pixels wide, with all of its parts open."""
    wrapper = directory / f"wrapper-{width}-{dark}.html"
    frame = f'<iframe id="page" width="{width}" height="800" style="border:0" srcdoc="{html.escape(page)}"></iframe>'
    wrapper.write_text(
        f'<!doctype html><meta charset="utf-8"><body><pre id="told"></pre>{frame}<script>{_MEASURE}</script>'
    )
    found: dict[str, Any] = told_by(looked_at(wrapper, directory / "profile", preferring(dark=dark)))
    return found


def preferring(*, dark: bool) -> str:
    """The option for a person whose system is dark, or light."""
    return f"--blink-settings=preferredColorScheme={0 if dark else 1}"


def told_by(seen: Seen) -> Any:
    """What a script of the page has measured, and put into `<pre id="told">`."""
    told = re.search(r'<pre id="told">(.*?)</pre>', seen.dom, re.DOTALL)
    assert told is not None and told[1], seen
    return json.loads(html.unescape(told[1]))


def screenshot(page: Path, profile: Path, picture: Path, *options: str) -> bytes:
    """What a person would see, as PNG."""
    command = [browser(), *_OPTIONS, f"--user-data-dir={profile}", *options]
    subprocess.run(
        [*command, f"--screenshot={picture}", page.as_uri()],
        capture_output=True,
        timeout=_SECONDS,
        check=True,
    )
    return picture.read_bytes()
