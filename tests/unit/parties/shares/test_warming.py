"""A server compiles beside everything else: it says so step by step, and whatever happens it goes on without."""

from __future__ import annotations

import threading

import pytest

from localdp.sharing.collection import Contributor
from localdp.sharing.encoding import Encoding
from localdp.sharing.prio3.batch import engine
from localdp.sharing.tiers import sharing_of
from parties.shares.warming import Warming
from tests.support.processes import wait_until
from tests.support.shares import collection_of


def test_every_step_is_told_and_the_end() -> None:
    lines: list[str] = []
    warming = Warming("server-0", lines.append)

    def work() -> None:
        for done, step in enumerate(["query", "tally", ""]):
            warming.tell(step, done, 2)

    warming.begin(work)
    wait_until(lambda: len(lines) == 3, "all is told")
    assert lines[0].startswith("server-0: compiling the verification of proofs, query (1 of 2)")
    assert "tally (2 of 2)" in lines[1] and "is compiled" in lines[2]


def test_what_cannot_be_compiled_is_told_by_its_kind_and_ends_nothing() -> None:
    lines: list[str] = []

    def fails() -> None:
        raise RuntimeError("something private")

    Warming("server-0", lines.append).begin(fails)
    wait_until(lambda: bool(lines), "it is told")
    assert lines == ["server-0: the verification of proofs could not be compiled (RuntimeError)"]


def test_where_there_is_nothing_to_do_nothing_is_done() -> None:
    before = threading.active_count()
    Warming("server-0", pytest.fail).begin(None)
    assert threading.active_count() == before


@pytest.mark.parametrize(("tier", "people"), [("additive", 1 << 22), ("prio3", 1000)])
def test_small_collections_and_bare_shares_are_not_worth_compiling(tier: str, people: int) -> None:
    parties = (Contributor("party-0", people),)
    sharing = sharing_of(collection_of(tier=tier, parties=parties))
    assert sharing.prepare(lambda *_: pytest.fail("nothing is compiled")) is None


def test_what_is_under_way_is_not_begun_again_and_others_go_on_without(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(engine, "_ready", set())
    monkeypatch.setattr(engine, "_under_way", set())
    parties = (Contributor("party-0", 1 << 22),)
    collection = collection_of(tier="prio3", parties=parties, encoding=Encoding.count())
    sharing = sharing_of(collection)
    assert sharing.prepare(lambda *_: None) is not None
    assert sharing.prepare(lambda *_: None) is None
    monkeypatch.setattr(engine, "_warm_up", lambda *_: pytest.fail("nobody waits for it"))
    assert sharing._compiles() is False  # type: ignore[attr-defined]
