"""The documentation as a site, every page of it in a real browser: at a desk in the light and in the dark, and on a phone.

No code is cut off (what is wide scrolls), nothing sticks out of the page, no picture is missing, and the console has nothing
to say.  `make docs` builds the site, in an environment of its own; so this is for the night.
"""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.support.browser import looked_at, preferring, told_by
from tests.support.processes import ROOT

pytestmark = pytest.mark.nightly
SITE = ROOT / "out/site"
VIEWS = {"desk": (1280, False), "desk in the dark": (1280, True), "phone": (390, False)}
PATIENCE_SECONDS = 900.0

# Opens page after page in one frame, and says what is wrong with each.
_MEASURE = """
const frame = document.getElementById("page"), told = {};
const scrolls = one => { for (let at = one; at; at = at.parentElement) {
  if (["auto", "scroll"].includes(frame.contentWindow.getComputedStyle(at).overflowX)) return true; } return false; };
const hidden = one => !one.checkVisibility() || one.closest(".md-sidebar, .md-search, .md-header, .md-skip, .headerlink") !== null;
const name = one => one.tagName + " " + (one.textContent || one.src || "").trim().slice(0, 60);
const measured = () => {
  const page = frame.contentDocument, width = page.documentElement.clientWidth;
  const shown = [...page.body.querySelectorAll("*")].filter(one => !hidden(one));
  const blocks = [...page.querySelectorAll("pre, pre code")].filter(one => !hidden(one));
  const pictures = [...page.images];
  return {
    width, content: page.documentElement.scrollWidth,
    sticking: shown.filter(one => one.getBoundingClientRect().right > width + 1 && !scrolls(one)).map(name),
    cut: blocks.filter(one => one.scrollWidth > one.clientWidth + 1 && one.clientWidth > 0 && !scrolls(one)).map(name),
    missing: pictures.filter(one => !one.complete || one.naturalWidth === 0).map(one => one.src),
    shown: pictures.filter(one => one.checkVisibility()).map(one => one.src.split("/").pop().split("#")[0]),
    scheme: page.body.dataset.mdColorScheme};
};
const next = pages => {
  if (!pages.length) { document.getElementById("told").textContent = JSON.stringify(told); return; }
  frame.onload = async () => {
    await Promise.all([...frame.contentDocument.images].map(one => one.decode().catch(() => null)));
    told[pages[0]] = measured();
    next(pages.slice(1));
  };
  frame.src = "/" + pages[0];
};
next(PAGES);
"""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """Where the site is served, on loopback."""
    done = subprocess.run(
        ["make", "docs"], cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=SITE))
    serving = threading.Thread(target=server.serve_forever)
    serving.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    serving.join()
    server.server_close()


class _Quiet(SimpleHTTPRequestHandler):
    """Serves files, and says nothing."""

    def log_message(self, *_: Any) -> None:
        """Into no log."""


def pages() -> list[str]:
    """Every page of the site, but for the one about pages that there are not."""
    return sorted(
        str(path.relative_to(SITE))
        for path in SITE.rglob("*.html")
        if path.name not in ("404.html", "looking.html")
    )


def seen(
    address: str, profile: Path, width: int, *, dark: bool, which: list[str]
) -> tuple[dict[str, Any], list[str]]:
    """What is wrong with each page, and what the console says."""
    script = _MEASURE.replace("PAGES", json.dumps(which))
    looking = SITE / "looking.html"
    looking.write_text(
        f'<!doctype html><meta charset="utf-8"><body><pre id="told"></pre><iframe id="page" width="{width}" height="900" '
        f'style="border:0"></iframe><script>{script}</script>'
    )
    try:
        made = looked_at(
            f"{address}/looking.html",
            profile,
            preferring(dark=dark),
            "--disable-quic",
            "--disable-sync",
            "--virtual-time-budget=600000",
            seconds=PATIENCE_SECONDS,
        )
    finally:
        looking.unlink()
    return told_by(made), made.complaints


@pytest.mark.parametrize("view", VIEWS)
def test_every_page_is_whole(view: str, address: str, tmp_path: Path) -> None:
    width, dark = VIEWS[view]
    told, complaints = seen(address, tmp_path, width, dark=dark, which=pages())
    assert len(told) == len(pages()) > 60
    assert complaints == []
    for name, page in told.items():
        assert page["width"] == width and page["content"] <= width, name
        assert page["sticking"] == page["cut"] == page["missing"] == [], name
        assert page["scheme"] == ("slate" if dark else "default"), name
    other = "-light.svg" if dark else "-dark.svg"
    pictures = [picture for page in told.values() for picture in page["shown"]]
    assert len(pictures) > 15 and not [one for one in pictures if one.endswith(other)]


def test_a_page_with_faults_would_be_noticed(address: str, tmp_path: Path) -> None:
    broken = SITE / "broken.html"
    whole = (SITE / "index.html").read_text()
    wrong = (
        '<pre style="overflow:hidden;width:100px"><code style="overflow:hidden;display:block">'
        + 99 * "x"
        + "</code></pre>"
    )
    wide, missing = '<div style="width:3000px">wide</div>', '<img src="none.png">'
    broken.write_text(
        whole.replace("<article", f"{wrong}{wide}{missing}<script>undefined_name()</script><article", 1)
    )
    try:
        told, complaints = seen(address, tmp_path, 1280, dark=False, which=["broken.html"])
    finally:
        broken.unlink()
    assert all(told["broken.html"][fault] for fault in ("sticking", "cut", "missing"))
    assert any("undefined_name" in one for one in complaints)
