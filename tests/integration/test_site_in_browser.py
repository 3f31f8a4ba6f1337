"""The documentation as a site, every page of it in a real browser: at a desk in the light and in the dark, and on a phone.

No code is cut off (what is wide scrolls), nothing sticks out of the page, no picture is missing, and the console has
nothing to say.  `make docs` builds the site, in an environment of its own; so this is for the night.
"""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.support.browser import looked_at, preferring
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
const around = ".md-sidebar, .md-search, .md-header, .md-skip, .headerlink";
const hidden = one => !one.checkVisibility() || one.closest(around) !== null;
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
  if (!pages.length) { fetch("/told", {method: "POST", body: JSON.stringify(told)}); return; }
  frame.onload = async () => {
    await Promise.all([...frame.contentDocument.images].map(one => one.decode().catch(() => null)));
    told[pages[0]] = measured();
    next(pages.slice(1));
  };
  frame.src = "/" + pages[0];
};
next(PAGES);
"""


class Site:
    """The site, served on loopback; and what a page of it has told."""

    def __init__(self) -> None:
        self.told: dict[str, Any] = {}
        self.done = threading.Event()


class _Handler(SimpleHTTPRequestHandler):
    """Serves files without a word.  A browser waits for the picture `waiting`, which comes when the page has told."""

    def __init__(self, site: Site, *arguments: Any) -> None:
        self.site = site
        super().__init__(*arguments, directory=str(SITE))

    def do_GET(self) -> None:
        """A file, or the end of the wait."""
        if self.path == "/waiting":
            self.site.done.wait(PATIENCE_SECONDS)
        super().do_GET()

    def do_POST(self) -> None:
        """What was measured."""
        self.site.told = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.site.done.set()
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        """Into no log."""


@pytest.fixture(scope="module", autouse=True)
def built() -> None:
    """As it is now."""
    done = subprocess.run(
        ["make", "docs"], cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]


@contextmanager
def served() -> Iterator[tuple[Site, str]]:
    """The site, and its address."""
    site = Site()
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Handler, site))
    serving = threading.Thread(target=server.serve_forever)
    serving.start()
    try:
        yield site, f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        site.done.set()
        server.shutdown()
        serving.join()
        server.server_close()


def pages() -> list[str]:
    """Every page of the site, but for the one about pages that there are not."""
    return sorted(str(path.relative_to(SITE)) for path in SITE.rglob("*.html") if path.name != "404.html")


def seen(profile: Path, width: int, *, dark: bool, which: list[str]) -> tuple[dict[str, Any], list[str]]:
    """What is wrong with each page, and what the console says."""
    script = _MEASURE.replace("PAGES", json.dumps(which))
    frame = f'<iframe id="page" width="{width}" height="900" style="border:0"></iframe>'
    looking, waiting = SITE / "looking.html", SITE / "waiting"
    head = '<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,"><body>'
    looking.write_text(f'{head}{frame}<img src="/waiting"><script>{script}</script>')
    waiting.write_text('<svg xmlns="http://www.w3.org/2000/svg"/>')
    try:
        with served() as (site, address):
            options = (preferring(dark=dark), "--disable-quic", "--disable-sync")
            made = looked_at(f"{address}/looking.html", profile, *options, seconds=PATIENCE_SECONDS)
            return site.told, made.complaints
    finally:
        looking.unlink()
        waiting.unlink()


@pytest.mark.parametrize("view", VIEWS)
def test_every_page_is_whole(view: str, tmp_path: Path) -> None:
    width, dark = VIEWS[view]
    told, complaints = seen(tmp_path, width, dark=dark, which=pages())
    assert len(told) == len(pages()) > 60
    assert complaints == []
    for name, page in told.items():
        assert page["width"] == width and page["content"] <= width, name
        assert page["sticking"] == page["cut"] == page["missing"] == [], name
        assert page["scheme"] == ("slate" if dark else "default"), name
    other = "-light.svg" if dark else "-dark.svg"
    pictures = [picture for page in told.values() for picture in page["shown"]]
    assert len(pictures) > 15 and not [one for one in pictures if one.endswith(other)]


def test_a_page_with_faults_would_be_noticed(tmp_path: Path) -> None:
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
        told, complaints = seen(tmp_path, 1280, dark=False, which=["broken.html"])
    finally:
        broken.unlink()
    assert all(told["broken.html"][fault] for fault in ("sticking", "cut", "missing"))
    assert any("undefined_name" in one for one in complaints)
