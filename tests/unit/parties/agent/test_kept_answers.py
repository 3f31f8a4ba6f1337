"""Answers that are kept: everybody's records are looked at once, whatever is asked again and however it is cut."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from localdp.accounting.epsilon import Epsilon
from localdp.cohorts import Asked, Cohort, Split
from localdp.errors import PolicyRefused, RequestExpired, UnknownIndex
from localdp.party.charging import Charged
from localdp.party.party import Draw, Party, Request
from localdp.randomizers.definition import LocalRandomizer, Reports, Values
from localdp.randomizers.k_ary import KaryRandomizedResponse
from localdp.randomizers.memoised import memoised_symmetric_unary
from localdp.randomizers.memoised_hashing import MemoisedHashing
from localdp.sharing.encoding import Encoding
from parties.agent.answers import _DUE, _OLDEST, _OLDEST_OF_CALLER, Keeping, KeptAnswers
from tests.support.federations import collection_of, party, people, request

PEOPLE = 60
EVERYBODY = Cohort(0, PEOPLE)
ONE, TWO = Epsilon.requested(1), Epsilon.requested(2)
MEMOISED: list[LocalRandomizer] = [memoised_symmetric_unary(TWO, ONE, 2), MemoisedHashing(ONE, TWO, 4)]


@dataclass
class Kept:
    """A party, its kept answers, and how often each person's record was looked at, by the name of a request."""

    party: Party
    path: Path
    keeping: Keeping = field(default_factory=lambda: Keeping(100, 1 << 20))
    now: float = 1000.0
    looks: dict[bytes, NDArray[np.int64]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.answers = KeptAnswers(self.path, self.keeping, lambda: self.now)

    def reopened(self) -> None:
        """As after a crash or a restart."""
        self.answers.close()
        self.__post_init__()

    def watched(self, charged: Charged[object]) -> Charged[object]:
        """The same, with every look at a record counted."""
        seen = self.looks.setdefault(charged.name, np.zeros(PEOPLE, np.int64))

        def inputs(part: Asked) -> Values:
            seen[part.selection()] += 1
            return charged.inputs(part)

        return replace(charged, inputs=inputs)

    def reports(self, asked: Request, cohort: Cohort, caller: str = "analyst") -> Reports:
        """What a caller gets."""
        draw: Draw = self.watched(self.party.charged(asked, cohort, caller))  # type: ignore[arg-type,assignment]
        packed = self.answers.reports(draw, asked.randomizer, cohort, caller)
        return asked.randomizer.unpack(packed, cohort.size())

    def most_looks(self) -> int:
        """The most often that anybody's record was looked at for one request."""
        return max(int(seen.max()) for seen in self.looks.values())


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Kept]:
    made = Kept(party(people(PEOPLE)), tmp_path / "answers.sqlite")
    yield made
    made.answers.close()


def cohorts() -> list[Cohort]:
    """Ranges and parts of splits that overlap in every way."""
    split = [Split(bytes([seed]) * 16, 3, seed % 3) for seed in range(4)]
    ranges = [Cohort(10, 20), Cohort(15, 30), EVERYBODY, Cohort(59, 60), Cohort(0, 41)]
    return [*ranges, *(Cohort(start, 50, one) for one in split for start in (0, 7)), EVERYBODY]


def test_however_it_is_cut_the_reports_are_those_of_the_request_and_each_record_is_looked_at_once(
    kept: Kept,
) -> None:
    random = np.random.default_rng(3)
    for order in range(6):
        asked = request(order)
        expected = party(people(PEOPLE)).randomize(asked, EVERYBODY)
        for place in random.permutation(len(cohorts())):
            cohort = cohorts()[place]
            got = kept.reports(asked, cohort)
            assert (got == expected[cohort.selection()]).all()
    assert kept.most_looks() == 1


def test_after_a_restart_it_is_still_what_was_sent(kept: Kept) -> None:
    first = kept.reports(request(1), EVERYBODY)
    kept.reopened()
    assert (kept.reports(request(1), EVERYBODY) == first).all()
    assert kept.most_looks() == 1


def test_who_was_charged_and_not_drawn_is_drawn_when_asked_for_again(kept: Kept) -> None:
    kept.party.charged(request(1), EVERYBODY)  # and then the agent was killed
    expected = party(people(PEOPLE)).randomize(request(1), EVERYBODY)
    assert (kept.reports(request(1), EVERYBODY) == expected).all()


def test_nobody_is_charged_under_the_name_of_a_request_whose_answers_are_gone(kept: Kept) -> None:
    kept.party.require_kept = kept.answers.require_there
    kept.reports(request(1), Cohort(0, 10))
    kept.now += 100
    before = kept.party.ledger.spent()
    for refused in (kept.party.charged, kept.party.granted):
        with pytest.raises(RequestExpired):
            refused(request(1), EVERYBODY)
    assert (kept.party.ledger.spent() == before).all()


def test_when_its_time_is_over_a_request_has_expired_and_nobody_is_drawn_again_under_its_name(
    kept: Kept,
) -> None:
    kept.reports(request(1), Cohort(0, 10))
    kept.now += 99
    kept.reports(request(1), Cohort(0, 20))  # the time was fixed when it was first asked
    kept.now += 1
    for cohort in (Cohort(0, 10), Cohort(10, 20), EVERYBODY, Cohort(40, 50)):
        with pytest.raises(RequestExpired):
            kept.reports(request(1), cohort)
    assert kept.most_looks() == 1
    kept.reports(request(2), EVERYBODY)


def test_beyond_the_bytes_the_oldest_goes_and_the_newest_stays(tmp_path: Path) -> None:
    kept = Kept(party(people(PEOPLE)), tmp_path / "answers.sqlite", Keeping(100, 20))
    for number in range(4):  # 8 bytes each
        kept.reports(request(number), EVERYBODY)
        kept.now += 1
    for number in (0, 1):
        with pytest.raises(RequestExpired):
            kept.reports(request(number), EVERYBODY)
    for number in (2, 3):
        kept.reports(request(number), EVERYBODY)
    assert kept.most_looks() == 1


def test_whoever_asks_for_much_loses_their_own_answers_first(tmp_path: Path) -> None:
    kept = Kept(party(people(PEOPLE)), tmp_path / "answers.sqlite", Keeping(100, 20))
    kept.reports(request(0), EVERYBODY, "analyst")
    for number in range(1, 6):
        kept.now += 1
        kept.reports(request(number), EVERYBODY, "mallory")
    kept.reports(request(0), EVERYBODY, "analyst")
    for number in range(1, 5):
        with pytest.raises(RequestExpired):
            kept.reports(request(number), EVERYBODY, "mallory")


@pytest.mark.parametrize("what", ["a collection", "permanent answers"])
def test_whoever_collects_much_loses_their_own_answers_first(tmp_path: Path, what: str) -> None:
    kept = Kept(party(people(PEOPLE)), tmp_path / "answers.sqlite", Keeping(100, 700))
    kept.reports(request(0), EVERYBODY, "analyst")
    for number in range(1, 80):
        kept.now += 1
        kept.reports(request(number, epsilon=Epsilon.requested("0.01")), EVERYBODY, "mallory")
    if what == "a collection":
        shares = kept.party.shared(collection_of([kept.party]), EVERYBODY, "mallory")
        kept.answers.shares(shares, EVERYBODY, "mallory")
    else:
        kept.reports(Request(bytes(16), "smoker", MEMOISED[0]), EVERYBODY, "mallory")
    kept.reports(request(0), EVERYBODY, "analyst")
    with pytest.raises(RequestExpired):
        kept.reports(request(1, epsilon=Epsilon.requested("0.01")), EVERYBODY, "mallory")


@pytest.mark.parametrize("randomizer", MEMOISED, ids=["unary", "hashing"])
def test_reports_from_permanent_answers_are_renewed_without_a_look_at_records(
    kept: Kept, randomizer: LocalRandomizer
) -> None:
    reports = []
    for number in range(5):
        asked = Request(bytes([number]) * 16, "smoker", randomizer)
        for cohort in (Cohort(5, 20), EVERYBODY):
            got = kept.reports(asked, cohort)
        assert (got == party(people(PEOPLE)).randomize(asked, EVERYBODY)).all()
        reports.append(got)
    assert kept.most_looks() == 1
    assert any((reports[0] != other).any() for other in reports[1:])


def test_permanent_answers_are_kept_for_the_epoch_and_go_with_it(kept: Kept) -> None:
    asked = Request(bytes(16), "smoker", MEMOISED[0])
    kept.reports(asked, EVERYBODY)
    kept.now += 10_000
    kept.reports(replace(asked, request_id=bytes([1]) * 16), EVERYBODY)
    assert kept.most_looks() == 1
    kept.party.enter(kept.party.epoch.next(people(PEOPLE)))
    kept.answers.enter(kept.party.epoch)
    kept.reports(asked, EVERYBODY)
    assert len(kept.looks) == 2  # another name, and other permanent answers


def test_shares_are_made_of_the_inputs_of_the_first_time(kept: Kept) -> None:
    collection = collection_of([kept.party])
    expected = party(people(PEOPLE)).share(collection, EVERYBODY)
    for cohort in (Cohort(0, 30), EVERYBODY, EVERYBODY):
        shares = kept.watched(kept.party.shared(collection, cohort))  # type: ignore[arg-type]
        blocks = kept.answers.shares(shares, cohort, "analyst")  # type: ignore[arg-type]
    for block, other in zip(blocks, expected, strict=True):
        assert (block.rows.inputs == other.rows.inputs).all()
    assert kept.most_looks() == 1


def test_of_an_ended_epoch_whoever_was_answered_can_fetch_and_nobody_else(kept: Kept) -> None:
    asked = Request(bytes(16), "smoker", KaryRandomizedResponse(ONE, 2))
    first = kept.reports(asked, Cohort(0, 40))
    kept.reports(asked, Cohort(0, 1), "auditor")
    name = kept.party.had(asked, Cohort(0, 40), "analyst")
    kept.party.enter(kept.party.epoch.next(people(PEOPLE)))
    kept.answers.enter(kept.party.epoch)
    with pytest.raises(RequestExpired):
        kept.party.charged(asked, Cohort(0, 40), "analyst")
    for cohort in (Cohort(0, 40), Cohort(10, 12)):
        assert kept.party.had(asked, cohort, "analyst") == name
        packed = kept.answers.fetching(name, asked.randomizer)(cohort)
        assert (asked.randomizer.unpack(packed, cohort.size()) == first[cohort.selection()]).all()
    for cohort, caller in (
        (Cohort(0, 40), "auditor"),
        (Cohort(0, 1), "mallory"),
        (Cohort(0, 41), "analyst"),
    ):
        with pytest.raises(RequestExpired):
            kept.party.had(asked, cohort, caller)
    with pytest.raises(RequestExpired):
        kept.answers.fetching(name, asked.randomizer, 3)
    kept.answers.fetching(name, asked.randomizer, 1)
    kept.now += 100
    with pytest.raises(RequestExpired):
        kept.answers.fetching(name, asked.randomizer)
    assert kept.most_looks() == 1


def test_the_owners_rules_of_now_hold_for_what_is_fetched(kept: Kept) -> None:
    asked = Request(bytes(16), "smoker", KaryRandomizedResponse(ONE, 2))
    kept.reports(asked, EVERYBODY)
    rules = kept.party.policy
    kept.party.enter(kept.party.epoch.next(people(PEOPLE)))
    for rule in ({"columns": frozenset({"age"})}, {"minimum_cohort": 61}, {"largest_epsilon": Epsilon(1)}):
        kept.party.policy = replace(rules, **rule)
        for ask in (kept.party.had, kept.party.charged, kept.party.granted):
            with pytest.raises(PolicyRefused):
                ask(replace(asked, epoch=1), EVERYBODY, "analyst")
    with pytest.raises(UnknownIndex):
        kept.party.had(asked, Cohort(0, 1 << 30), "analyst")


def test_many_pieces_become_few(kept: Kept) -> None:
    expected = party(people(PEOPLE)).randomize(request(1), EVERYBODY)
    for person in range(PEOPLE):
        kept.reports(request(1), Cohort(person, person + 1))
    (pieces,) = kept.answers._file.execute("SELECT count(*) FROM pieces").fetchone()
    assert pieces == 1
    assert (kept.reports(request(1), EVERYBODY) == expected).all()
    assert kept.most_looks() == 1


def test_what_was_kept_of_a_forgotten_epoch_is_not_sent_in_another_one_of_its_number(kept: Kept) -> None:
    second = kept.party.epoch.next(people(PEOPLE))
    kept.party.enter(second)
    kept.answers.enter(second)
    before = kept.reports(request(1), EVERYBODY)
    restored = Kept(party(people(PEOPLE)), kept.path)  # its ledger forgot the second epoch
    again = replace(second, identifier=bytes([7]) * 16)
    restored.party.enter(again)
    restored.answers.enter(again)
    assert (restored.reports(request(1), EVERYBODY) != before).any()
    restored.answers.close()


def test_what_was_dropped_is_not_in_the_file(tmp_path: Path) -> None:
    kept = Kept(party(people(PEOPLE)), tmp_path / "answers.sqlite")
    asked = request(1)
    packed = asked.randomizer.pack(kept.reports(asked, EVERYBODY))
    kept.answers.close()
    assert packed in kept.path.read_bytes()
    kept.now += 100
    kept.reopened()
    kept.answers.enter(kept.party.epoch.next(people(PEOPLE)))
    kept.answers.close()
    assert packed not in kept.path.read_bytes()


def test_the_file_is_for_its_owner_alone(kept: Kept) -> None:
    kept.reports(request(1), EVERYBODY)
    assert kept.path.stat().st_mode & 0o077 == 0


def test_the_size_of_all_answers_is_known_without_looking_at_all_of_them(kept: Kept) -> None:
    draws, file = np.random.default_rng(3), kept.answers._file
    kept.keeping = Keeping(100, 400)
    kept.reopened()
    for number in range(60):
        start = int(draws.integers(0, 50))
        kept.reports(request(number, epsilon=Epsilon.requested("0.01")), Cohort(start, start + 10))
        kept.now += float(draws.choice([0, 10, 60]))
        if number % 20 == 19:
            kept.answers.enter(replace(kept.party.epoch, number=number))
            kept.reopened()
        file = kept.answers._file
        ((total, really),) = file.execute(
            "SELECT size, (SELECT sum(size) FROM answers) FROM total"
        ).fetchall()
        assert total == (really or 0)
    for line, values in ((_DUE, (0,)), (_OLDEST, (b"",)), (_OLDEST_OF_CALLER, ("analyst", b""))):
        plan = [row[-1] for row in file.execute(f"EXPLAIN QUERY PLAN {line}", values).fetchall()]
        assert all("USING" in step and "INDEX" in step for step in plan)
        assert not any(step.startswith("USE TEMP") for step in plan)


class Wide:
    """A randomizer of long reports, which counts how many it packs and unpacks."""

    row_bytes = 14_641
    a_chunk = 2  # people

    def __init__(self) -> None:
        self.reports = 0

    def pack(self, reports: Reports) -> bytes:
        self.reports += len(reports)
        return reports.tobytes()

    def unpack(self, data: bytes, count: int) -> Reports:
        self.reports += count
        return np.frombuffer(data, np.uint8).reshape(count, self.row_bytes)


ROWS = np.random.default_rng(1).integers(0, 256, (PEOPLE, Wide.row_bytes), np.uint8)


def wide(kept: Kept, cohort: Cohort, name: bytes = b"wide") -> int:
    """Ask for long reports, and see that they are right; how many were packed and unpacked."""
    draw: Draw = Charged(name, 1, lambda part: ROWS[part.selection()], lambda part, values: values)
    randomizer: Any = Wide()
    packed = kept.answers.reports(kept.watched(draw), randomizer, cohort, "analyst")  # type: ignore[arg-type]
    assert packed == ROWS[cohort.selection()].tobytes()
    return int(randomizer.reports)


def test_few_people_are_few_reports_to_read_and_to_write_however_many_are_kept(kept: Kept) -> None:
    ones = [Cohort(person, person + 1) for person in range(PEOPLE)]
    assert max(wide(kept, one) for one in (*ones, *ones)) <= 2 * Wide.a_chunk + 1
    wide(kept, EVERYBODY)
    assert kept.most_looks() == 1


def test_what_shares_are_made_of_is_kept_as_short_as_it_is(kept: Kept) -> None:
    collection = collection_of(
        [kept.party], query="cells(age, age)", encoding=Encoding.histogram(121 * 121)
    )
    shares = kept.party.shared(collection, EVERYBODY)
    expected = shares(EVERYBODY)
    for _ in range(2):
        blocks = kept.answers.shares(shares, EVERYBODY, "analyst")
        for block, other in zip(blocks, expected, strict=True):
            assert (block.rows.inputs == other.rows.inputs).all()
    ((size,),) = kept.answers._file.execute("SELECT size FROM answers").fetchall()
    assert size <= 2 * PEOPLE + 128


def test_what_goes_at_once_is_overwritten_a_bit_at_a_time(tmp_path: Path) -> None:
    kept = Kept(party(people(PEOPLE)), tmp_path / "answers.sqlite", Keeping(100, 900_000))
    wide(kept, EVERYBODY, b"first")
    left = [pieces_of(kept, b"first")]
    for number in range(1, 4):
        wide(kept, Cohort(0, 8 * number), bytes([number]))
        with pytest.raises(RequestExpired):
            wide(kept, EVERYBODY, b"first")
        left.append(pieces_of(kept, b"first"))
    assert left == [30, 26, 18, 6]
    kept.answers.close()


def test_a_start_overwrites_all_that_was_dropped(tmp_path: Path) -> None:
    kept = Kept(party(people(PEOPLE)), tmp_path / "answers.sqlite", Keeping(100, 900_000))
    wide(kept, EVERYBODY, b"first")
    wide(kept, Cohort(0, 8), b"second")
    kept.reopened()
    assert pieces_of(kept, b"first") == 0
    with pytest.raises(RequestExpired):
        wide(kept, EVERYBODY, b"first")
    kept.answers.close()


def pieces_of(kept: Kept, name: bytes) -> int:
    (pieces,) = kept.answers._file.execute("SELECT count(*) FROM pieces WHERE name = ?", (name,)).fetchone()
    return int(pieces)


OLD_LAYOUT = (
    "CREATE TABLE answers (name BLOB PRIMARY KEY, epoch INTEGER NOT NULL, until INTEGER NOT NULL,"
    " inputs INTEGER NOT NULL, gone INTEGER NOT NULL, size INTEGER NOT NULL) STRICT",
    "CREATE TABLE pieces (name BLOB NOT NULL, start INTEGER NOT NULL, stop INTEGER NOT NULL, seed BLOB,"
    " parts INTEGER, part INTEGER, listed BLOB, content BLOB NOT NULL) STRICT",
    "CREATE TABLE callers (name BLOB NOT NULL, caller TEXT NOT NULL, PRIMARY KEY (name, caller)) STRICT",
)


def test_a_file_of_before_is_read_and_goes_on(tmp_path: Path) -> None:
    """Ranges, parts of splits and lists of people, of any size, and an answer that is gone."""
    kept, asked, old = party(people(PEOPLE)), request(1), tmp_path / "answers.sqlite"
    expected, pack = kept.randomize(asked, EVERYBODY), asked.randomizer.pack
    name, gone = (kept.charged(each, EVERYBODY).name for each in (asked, request(2)))
    split = Cohort(20, 40, Split(bytes(16), 3, 1))
    listed = np.setdiff1d(np.arange(20, 55), split.indices())
    with closing(sqlite3.connect(old)) as file:
        for line in OLD_LAYOUT:
            file.execute(line)
        file.execute("INSERT INTO answers VALUES (?, 1, 1090, 0, 0, 160)", (name,))
        file.execute("INSERT INTO answers VALUES (?, 1, 1090, 0, 1, 0)", (gone,))
        file.executemany("INSERT INTO callers VALUES (?, 'analyst')", [(name,), (gone,)])
        row = "INSERT INTO pieces VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
        file.execute(row, (name, 0, 20, None, None, None, None, pack(expected[:20])))
        file.execute(row, (name, 20, 40, bytes(16), 3, 1, None, pack(expected[split.selection()])))
        people_in = listed.astype(np.uint32).tobytes()
        file.execute(row, (name, 20, 55, None, None, None, people_in, pack(expected[listed])))
        file.commit()
    made = Kept(kept, old)
    for cohort in (Cohort(10, 30), split, Cohort(54, 55), EVERYBODY, Cohort(1, 2)):
        assert (made.reports(asked, cohort) == expected[cohort.selection()]).all()
    assert made.looks[name].tolist() == [0] * 55 + [1] * 5
    with pytest.raises(RequestExpired):
        made.reports(request(2), EVERYBODY)
    made.answers.close()
