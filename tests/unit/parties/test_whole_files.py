"""Files that take the place of others: whole, private, and nothing left behind where they could not be written."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest

from parties.durable import written_whole


@pytest.mark.parametrize("part", [None, "file.part"])
def test_a_file_is_replaced_when_the_new_one_is_whole(part: str | None, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    beside = None if part is None else tmp_path / part
    with written_whole(path, part=beside) as file:
        file.write(b"new")
        file.flush()
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"
    assert path.stat().st_mode & 0o777 == 0o600
    with suppress(ZeroDivisionError), written_whole(path, part=beside) as file:
        file.write(b"half")
        raise ZeroDivisionError
    assert (path.read_bytes(), [*tmp_path.iterdir()]) == (b"new", [path])


def test_a_file_is_not_written_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_bytes(b"kept")
    (tmp_path / "file.part").symlink_to(tmp_path / "elsewhere")
    with (
        pytest.raises(OSError, match="symbolic links"),
        written_whole(tmp_path / "file", part=tmp_path / "file.part"),
    ):
        pass
    assert (tmp_path / "elsewhere").read_bytes() == b"kept"
