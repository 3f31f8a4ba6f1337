"""What mkdocs is told beyond mkdocs.yml: pages from outside of docs/, the API, pictures for light and dark, and pages that
nobody put into the menu.

A picture of docs/pictures/ is light or dark as the reader's system is.  The site has a button for it as well, so there
every picture becomes two, and the theme shows the one that goes with the page.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
import reference
import terms

ROOT = Path(__file__).resolve().parent.parent
# The API is found behind what is written to be read, unless a name of it is searched for: words in a heading, which a name
# is, count a thousand times as much as others.
API_BOOST, OUTSIDE_BOOST = 0.001, 0.2
SCHEMES = {"light": "@media not all", "dark": "@media all"}
SYSTEM = "@media (prefers-color-scheme: dark)"  # in the pictures
_PICTURE = re.compile(r"!\[([^\]]*)\]\((?:docs/)?pictures/([\w-]+)\.svg\)")
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
    for path in sorted((ROOT / "docs/pictures").glob("*.svg")):
        for scheme, media in SCHEMES.items():
            drawn = path.read_text().replace(SYSTEM, media)
            files.append(File.generated(config, f"pictures/{path.stem}-{scheme}.svg", content=drawn))
    return files


def _found_later(text: str, boost: float) -> str:
    """A page with the header by which the search weighs it."""
    return f"---\nsearch:\n  boost: {boost}\n---\n\n{text}"


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Links out of docs/ lead to where the page is in the site; a picture is there for the light and for the dark; and
    special words lead to the glossary."""
    for name, source in OUTSIDE.items():
        markdown = markdown.replace(f"](../{source})", f"]({name})")
    return _with_words(_PICTURE.sub(_both, markdown), page.file.src_path)


def _with_words(markdown: str, page: str) -> str:
    """The glossary with a place for each word, and links to these from the pages that people read."""
    glossary = (ROOT / "docs/glossary.md").read_text()
    if page == "glossary.md":
        return terms.anchored(markdown)
    return (
        markdown
        if page.startswith("api/") or page in OUTSIDE
        else terms.linked(markdown, terms.terms_of(glossary))
    )


def _both(picture: re.Match[str]) -> str:
    """The picture in each scheme, of which the theme shows one."""
    words, name = picture.groups()
    return "".join(f"![{words}](pictures/{name}-{scheme}.svg#only-{scheme})" for scheme in SCHEMES)
