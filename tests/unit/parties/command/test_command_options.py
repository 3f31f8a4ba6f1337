"""Numbers and files that the command line is given."""

from __future__ import annotations

from pathlib import Path

import pytest

from localdp.errors import InvalidParameter
from parties.addresses import State, forget_state, read_state, require_replaceable, write_state
from parties.command.options import number_of_people, whole_number, whole_numbers
from parties.coordinator import Peer

HERE = State((Peer("party-0", "127.0.0.1:1"),), (Peer("server-0", "127.0.0.1:2"),))
THERE = State((Peer("party-0", "127.0.0.1:3"),), ())


@pytest.mark.parametrize(
    ("text", "number"), [("1e4", 10_000), ("10_000", 10_000), (" 7 ", 7), ("1.5e1", 15)]
)
def test_a_whole_number_may_be_written_in_several_ways(text: str, number: int) -> None:
    assert whole_number(text) == number


@pytest.mark.parametrize(
    "text", ["", "abc", "0.5", "1e-3", "nan", "snan", "inf", "1e999999999", "9" * 10**6, "1,2"]
)
def test_what_is_no_whole_number_is_refused(text: str) -> None:
    with pytest.raises(InvalidParameter) as caught:
        whole_number(text)
    assert len(str(caught.value)) < 120


@pytest.mark.parametrize("text", ["0", "-1", "1e9", "1e20"])
def test_a_number_of_people_that_do_not_fit_is_refused(text: str) -> None:
    with pytest.raises(InvalidParameter):
        number_of_people(text)


def test_numbers_are_separated_by_commas() -> None:
    assert whole_numbers("1,1e2, 3") == (1, 100, 3)


def test_the_state_comes_back_and_is_forgotten_by_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "new" / "state.json"
    require_replaceable(path)
    write_state(HERE, path)
    assert read_state(path) == HERE
    require_replaceable(path)
    forget_state(THERE, path)
    assert path.exists()
    forget_state(HERE, path)
    assert not path.exists()
    forget_state(HERE, path)


def test_a_file_of_another_kind_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("years of work")
    for other in (path, tmp_path):
        with pytest.raises(InvalidParameter):
            require_replaceable(other)
