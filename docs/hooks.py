"""What mkdocs is told beyond mkdocs.yml: pages from outside of docs/, the API, and pages that nobody put into the menu."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
import reference

ROOT = Path(__file__).resolve().parent.parent
# The API is found behind what is written to be read, unless a name of it is searched for: words in a heading, which a name
# is, count a thousand times as much as others.
API_BOOST, OUTSIDE_BOOST = 0.001, 0.2
OUTSIDE = {"architecture.md": "ARCHITECTURE.md", "changelog.md": "CHANGELOG.md"}


def on_config(config: Any) -> Any:
    """The menu, with what is not in it yet."""
    named = set(_named(config.nav))
    rest = sorted(path.name for path in (ROOT / "docs").glob("*.md") if path.name not in named)
    section = next(entry["Reference"] for entry in config.nav if "Reference" in entry)
    section.extend(rest)
    config.nav.append({"API": [{name: f"api/{name}.md"} for name in reference.pages()]})
    return config


def _named(entry: Any) -> list[str]:
    """The files of a part of the menu."""
    if isinstance(entry, str):
        return [entry]
    parts = entry.values() if isinstance(entry, dict) else entry
    return [name for part in parts for name in _named(part)]


def on_files(files: Any, config: Any) -> Any:
    """Pages that are made, and pages that stand at the root of the project."""
    from mkdocs.structure.files import File

    for name, text in reference.pages().items():
        files.append(File.generated(config, f"api/{name}.md", content=_found_later(text, API_BOOST)))
    for name, source in OUTSIDE.items():
        text = (ROOT / source).read_text().replace("](docs/", "](")
        files.append(File.generated(config, name, content=_found_later(text, OUTSIDE_BOOST)))
    return files


def _found_later(text: str, boost: float) -> str:
    """A page with the header by which the search weighs it."""
    return f"---\nsearch:\n  boost: {boost}\n---\n\n{text}"


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Links out of docs/ lead to where the page is in the site."""
    for name, source in OUTSIDE.items():
        markdown = markdown.replace(f"](../{source})", f"]({name})")
    return markdown
