"""The journal of a stream: what was written stays, whoever writes, and it holds no noise and nothing to draw noise from."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from localdp.algorithms.streams.running_count import SummedInterval
from localdp.errors import InvalidParameter, StorageFailed
from localdp.sharing.binding import Binding
from parties.streams.journal import StreamJournal, StreamStep, journal_there
from parties.streams.terms import StreamTerms

TERMS = StreamTerms("smoker", "local", (), "1", 4, "tree", (("a", 3), ("b", 5)), "0")


def begun(path: Path) -> StreamJournal:
    journal = StreamJournal(path)
    journal.begin(TERMS)
    return journal


def interval(number: float) -> SummedInterval:
    return SummedInterval(np.array([number]), np.array([0.25]), 3)


def test_a_released_interval_is_read_again_bit_for_bit(tmp_path: Path) -> None:
    journal = begun(tmp_path / "weeks")
    journal.begin_step(1, (1, 2))
    third = 1 / 3 + 1e-13
    journal.release(1, 0, interval(third))
    journal.close()
    (step,) = StreamJournal(tmp_path / "weeks").steps()
    assert step.released is not None
    assert (step.step, step.came, step.attempt, step.released.people) == (1, (1, 2), 0, 3)
    assert float(step.released.sums[0]).hex() == third.hex()


def test_what_another_process_wrote_first_is_what_counts(tmp_path: Path) -> None:
    one, other = begun(tmp_path / "weeks"), begun(tmp_path / "weeks")
    assert one.begin_step(1, (1, 2)).came == (1, 2)
    assert other.begin_step(1, (3, 3)).came == (1, 2)
    some, others = [range(2), range(3, 5)], [range(2), range(3, 6)]
    assert one.identifiers(1, 0, some) == other.identifiers(1, 0, some) != one.identifiers(1, 1, some)
    assert one.identifiers(1, 0, some) != one.identifiers(1, 0, others)
    assert one.release(1, 0, interval(1.0)).sums.tolist() == [1.0]
    assert other.release(1, 0, interval(2.0)).sums.tolist() == [1.0]
    other.give_up(1, 0, (1, 2))
    assert one.steps()[0].attempt == 0  # it was released: there is nothing to give up


def test_what_was_given_up_is_on_record_and_released_no_more(tmp_path: Path) -> None:
    one, other = begun(tmp_path / "weeks"), begun(tmp_path / "weeks")
    one.begin_step(1, (1, 2))
    other.give_up(1, 0, (2, 2))
    other.give_up(1, 0, (3, 3))  # which it was already
    with pytest.raises(InvalidParameter, match="begun anew by another process"):
        one.release(1, 0, interval(1.0))
    (step,) = one.steps()
    assert (step.came, step.attempt, step.asked) == ((2, 2), 1, ((1, 2), (2, 2)))
    assert other.release(1, 1, interval(2.0)).sums.tolist() == [2.0]


def test_a_journal_that_did_not_say_who_was_given_up_has_the_same_people(tmp_path: Path) -> None:
    assert StreamStep(1, (1, 2), 2, None).asked == ((1, 2),) * 3


def test_two_streams_have_other_identifiers(tmp_path: Path) -> None:
    one, other = (begun(tmp_path / name).identifiers(1, 0, [range(3)]) for name in ("one", "other"))
    assert one != other


def test_a_binding_stays_what_it_was(tmp_path: Path) -> None:
    journal = begun(tmp_path / "weeks")
    first = Binding((b"k" * 32, b"l" * 32), (b"w" * 32, b"x" * 32), b"c" * 32, 1_800_000_000)
    later = Binding((b"K" * 32, b"l" * 32), (b"w" * 32, b"x" * 32), b"c" * 32, 1_900_000_000)
    assert journal.bound(b"collection") is None
    assert journal.bind(b"collection", first) == first
    assert journal.bind(b"collection", later) == first == journal.bound(b"collection")


def test_other_terms_are_refused_by_what_differs(tmp_path: Path) -> None:
    journal = begun(tmp_path / "weeks")
    with pytest.raises(InvalidParameter, match="another query"):
        journal.begin(StreamTerms("old", "local", (), "1", 4, "tree", (("a", 3), ("b", 5)), "0"))
    with pytest.raises(InvalidParameter, match="another parties"):
        journal.begin(StreamTerms("smoker", "local", (), "1", 4, "tree", (("a", 3), ("b", 6)), "0"))


def test_the_file_is_for_its_owner_and_what_is_no_journal_is_refused(tmp_path: Path) -> None:
    begun(tmp_path / "weeks").close()
    assert (tmp_path / "weeks").stat().st_mode & 0o077 == 0
    with pytest.raises(InvalidParameter, match="no such journal"):
        journal_there(tmp_path / "nothing")
    (tmp_path / "other").write_text("something else than a database, and longer than its first page" * 100)
    with pytest.raises(StorageFailed):
        StreamJournal(tmp_path / "other")


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"query": 1}'])
def test_terms_that_cannot_be_read_are_a_fault_of_the_file(text: str) -> None:
    with pytest.raises(StorageFailed):
        StreamTerms.of_text(text)
