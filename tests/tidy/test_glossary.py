"""The glossary: each word once, in order, and every page leads to it, or says itself what the word is, at the first use."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
GLOSSARY = (DOCS / "glossary.md").read_text()
READ = sorted(path for path in DOCS.glob("*.md") if path.name != "glossary.md")
# One role, one word.  Where another one stands, it is a name of a setting, of an option or of a file.
_OTHER_WORDS = re.compile(
    r"(?<![\w`./\"_=-])(collector|aggregator|coordinator)s?(?![\w`\"/.]|\s*=)", re.IGNORECASE
)
_AS_THEY_ARE = ("claims.md", "contract.md")  # cited by others, or written from the protos


def page_id(path: Path) -> str:
    return path.name


@pytest.fixture(scope="module")
def terms() -> ModuleType:
    spec = importlib.util.spec_from_file_location("terms", DOCS / "terms.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["terms"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def test_each_word_is_there_once_with_a_meaning_and_in_order(terms: ModuleType) -> None:
    words = [term.word for term in terms.terms_of(GLOSSARY)]
    assert len(words) == len(set(words)) > 60
    rows = [
        word
        for word in re.findall(r"^\| ([^|]+?) \|", GLOSSARY, re.MULTILINE)
        if word not in ("word", "---")
    ]
    spelled = [re.sub(r"^(δ|ε) \(|^the |\)$", "", word).lower() for word in rows]
    assert spelled == sorted(spelled)
    assert len({term.anchor for term in terms.terms_of(GLOSSARY)}) == len(words)


@pytest.mark.parametrize("page", READ, ids=page_id)
def test_the_first_use_of_each_word_leads_to_the_glossary(page: Path, terms: ModuleType) -> None:
    """On the page as the site has it: before its link a word stands nowhere in the prose."""
    known = terms.terms_of(GLOSSARY)
    shown = terms.linked(page.read_text(), known)
    for term in known:
        link = shown.find(f'href="glossary.html#{term.anchor}"')
        before = shown if link < 0 else shown[: shown.rfind("<a ", 0, link)]
        without = re.sub(r'<a class="term"[^>]*>(.*?)</a>', r"\1", before, flags=re.DOTALL)
        alone = "".join(text for prose, text in terms.split(without) if prose)
        assert not terms.uses(alone, term, known), (term.word, page.name)


def test_code_links_and_headings_stay_as_they_are(terms: ModuleType) -> None:
    page = (
        "# Ledger\n\n`ledger` and [a ledger](x.md), the share server\nand a ledger.\n\n```sh\nledger\n```\n"
    )
    shown = terms.linked(page, terms.terms_of(GLOSSARY))
    assert shown.startswith("# Ledger\n\n`ledger` and [a ledger](x.md), the <a ")
    assert (
        ">share server</a>\nand a <a " in shown
        and "#word-share" + '"' not in shown
        and shown.endswith(">ledger</a>.\n\n```sh\nledger\n```\n")
    )


def test_the_book_is_named_where_it_is_first_used(terms: ModuleType) -> None:
    shown = terms.linked("Theorem 3.14 of it, and section 9.3.", terms.terms_of(GLOSSARY))
    assert (
        shown.startswith("<a ")
        and "Cynthia Dwork and Aaron Roth" in shown
        and shown.count("word-the-book") == 1
    )


@pytest.mark.parametrize("page", [ROOT / "README.md", *READ], ids=page_id)
def test_whoever_asks_is_the_analyst(page: Path) -> None:
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    assert page.name in _AS_THEY_ARE or not _OTHER_WORDS.findall(re.sub(r"`[^`]*`", "", text))


FLOWS = (
    "agents",
    "analyst",
    "contract",
    "experiments",
    "howto-deploy",
    "howto-own-algorithm",
    "howto-own-rpc",
    "howto-own-trust-model",
    "index",
    "keys",
    "learners",
    "noise",
    "owner",
    "privacy-officer",
    "release",
    "shares",
    "shuffling",
    "statistical-queries",
    "student",
    "tasks",
    "threat-model",
    "trust-models",
    "tutorial",
)


@pytest.mark.parametrize("page", FLOWS)
def test_a_page_that_explains_a_flow_has_a_picture_of_it(page: str) -> None:
    assert re.search(r"!\[[^\]]{20,}\]\(pictures/[\w-]+\.svg\)", (DOCS / f"{page}.md").read_text())
