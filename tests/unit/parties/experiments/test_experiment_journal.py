"""What was appended is read again, whatever was cut off behind it; anything else is refused."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from localdp.errors import InvalidParameter, StorageFailed
from parties.experiments.cells import BlockResult
from parties.experiments.journal import FILE, Header, SweepJournal

HEADER = Header("experiment", None, "00", "now")
RESULT = BlockResult([{"trial": 0, "error": 0.1}], "promised", {"budget_exhausted": "no"}, 0.25)


def begun(directory: Path, blocks: int = 3) -> bytes:
    with closing(SweepJournal(directory, HEADER, resume=False)) as journal:
        for number in range(blocks):
            journal.append(f"block {number}", RESULT)
    return (directory / FILE).read_bytes()


def resumed(directory: Path, header: Header = HEADER) -> dict[str, BlockResult]:
    with closing(SweepJournal(directory, header, resume=True)) as journal:
        return dict(journal.blocks)


def test_what_was_appended_is_read_again(tmp_path: Path) -> None:
    begun(tmp_path)
    assert resumed(tmp_path) == {f"block {number}": RESULT for number in range(3)}


def test_a_file_that_was_cut_off_anywhere_has_the_blocks_before_and_can_be_gone_on_with(
    tmp_path: Path,
) -> None:
    data = begun(tmp_path)
    ends = [place for place, byte in enumerate(data) if byte == ord("\n")]
    near_ends = {end + step for end in ends for step in (-1, 0, 1, 2)}
    for cut in sorted({*range(0, len(data), 17), *near_ends} - {len(data) + 1}):
        (tmp_path / FILE).write_bytes(data[:cut])
        whole = sum(end < cut for end in ends)  # lines that are there with their end
        assert len(resumed(tmp_path)) == max(0, whole - 1)
        with closing(SweepJournal(tmp_path, HEADER, resume=True)) as journal:
            journal.append("further", RESULT)
        assert list(resumed(tmp_path))[-1] == "further"


def test_the_header_of_the_first_run_stays(tmp_path: Path) -> None:
    begun(tmp_path)
    with closing(
        SweepJournal(tmp_path, replace(HEADER, people_root="ff", started="later"), True)
    ) as journal:
        assert journal.header == HEADER


@pytest.mark.parametrize("place", ["header", "block", "last"])
def test_a_damaged_line_is_refused(tmp_path: Path, place: str) -> None:
    data = bytearray(begun(tmp_path))
    data[{"header": 20, "block": data.index(b"\n") + 20, "last": len(data) - 20}[place]] ^= 1
    (tmp_path / FILE).write_bytes(data)
    with pytest.raises(StorageFailed, match="damaged"):
        resumed(tmp_path)


@pytest.mark.parametrize(
    "changed",
    [lambda one: replace(one, experiment="another"), lambda one: replace(one, data="another")],
    ids=["experiment", "data"],
)
def test_results_of_another_experiment_or_of_other_data_are_not_mixed_in(
    tmp_path: Path, changed: Callable[[Header], Header]
) -> None:
    begun(tmp_path)
    with pytest.raises(InvalidParameter, match="another experiment"):
        resumed(tmp_path, changed(HEADER))


def test_an_earlier_run_is_not_written_over(tmp_path: Path) -> None:
    before = begun(tmp_path)
    with pytest.raises(InvalidParameter, match="--resume"):
        SweepJournal(tmp_path, HEADER, resume=False)
    assert (tmp_path / FILE).read_bytes() == before


def test_two_runs_do_not_write_to_one_journal(tmp_path: Path) -> None:
    first = closing(SweepJournal(tmp_path, HEADER, resume=False))
    with first, pytest.raises(InvalidParameter, match="another run is writing"):
        SweepJournal(tmp_path, HEADER, resume=True)
    resumed(tmp_path)


@pytest.mark.parametrize("content", ["years of work\n", "years of work", '{"rows": []}'])
def test_something_else_is_no_journal_and_stays_as_it_is(tmp_path: Path, content: str) -> None:
    (tmp_path / FILE).write_text(content)
    with pytest.raises(StorageFailed):
        resumed(tmp_path)
    assert (tmp_path / FILE).read_text() == content
