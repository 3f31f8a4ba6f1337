"""Where files are: on this machine, or at an address of fsspec such as s3://bucket/reports (extra `scale`).

Checked in tests/unit/parties/at_rest/test_places.py.
"""

from __future__ import annotations

import glob
import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from localdp.errors import InvalidParameter, requiring
from parties.durable import written_whole

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsspec import AbstractFileSystem

_HERE = ("file://", "local://")  # what fsspec calls this machine


def found(pattern: str) -> list[str]:
    """The files that a pattern such as reports/*.parquet means, in order; each once."""
    if not is_elsewhere(pattern):
        return sorted({os.path.realpath(one) for one in glob.glob(_path(pattern))})
    system, path = _system(pattern)
    return sorted(system.unstrip_protocol(one) for one in system.glob(path))


@contextmanager
def opened(place: str) -> Iterator[BinaryIO]:
    """A file, to be read."""
    if not is_elsewhere(place):
        with open(_path(place), "rb", opener=_at_once) as file:
            yield file
        return
    system, path = _system(place)
    with system.open(path, "rb") as file:
        yield file


def _at_once(path: str, flags: int) -> int:
    """Open a file without waiting: a pipe that stands among files has no beginning to go back to, and is refused."""
    return os.open(path, flags | os.O_NONBLOCK)


@contextmanager
def written(place: str) -> Iterator[BinaryIO]:
    """A file, which is there when it is whole, and durable; one of that name that was there before is replaced.

    Here it is for its owner alone, and no link is followed.
    """
    if not is_elsewhere(place):
        with _written_here(Path(_path(place))) as file:
            yield file
        return
    system, path = _system(place)
    with system.transaction, system.open(path, "wb") as file:
        yield file


def is_elsewhere(place: str) -> bool:
    """Whether it is not a path of this machine."""
    return "://" in place and not place.startswith(_HERE)


def inside(directory: str, name: str) -> str:
    """The place of a file in a directory."""
    return (
        f"{directory.rstrip('/')}/{name}" if is_elsewhere(directory) else str(Path(_path(directory)) / name)
    )


def _path(place: str) -> str:
    """A path of this machine, as the system knows it."""
    return next((place.removeprefix(name) for name in _HERE if place.startswith(name)), place)


@contextmanager
def _written_here(path: Path) -> Iterator[BinaryIO]:
    path.parent.mkdir(parents=True, exist_ok=True)
    with written_whole(path) as file:
        yield file


def _system(place: str) -> tuple[AbstractFileSystem, str]:
    with requiring(f"{place!s:.80} is not on this machine: such addresses need the extra scale", "scale"):
        import fsspec
    try:
        system, path = fsspec.core.url_to_fs(place)
    except (ImportError, ValueError) as error:
        raise InvalidParameter(f"{place!s:.80} cannot be opened: {error}") from error
    return system, path
