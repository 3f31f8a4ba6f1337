"""How a Python function of this package becomes machine code, and where that is kept.

A *part* is compiled into whatever calls it.  An *entry* is what the rest of the package calls: one function, one signature,
compiled when first asked for and kept on disk for later processes.  Entries release the interpreter's lock, so that a
server may verify blocks in threads, and use no threads of their own.

The place on disk is numba's: NUMBA_CACHE_DIR if set, else beside the source, else the user's cache directory; where none
can be written an entry is compiled in every process.  Whoever can write there decides what this process runs, as with
any installed code.  Numba looks for changes in an entry's own file only, so the name of an entry carries a digest of
all files of this package: code made from other sources is never found.

Checked in tests/unit/sharing/prio3/test_compiled_toolchain.py.
"""

from collections.abc import Callable
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeAlias, TypeVar, cast

import numba
import numba.core.types
from numba.extending import intrinsic, overload

Code: TypeAlias = Callable[..., Any]  # a function, compiled or not
Kind: TypeAlias = Any  # a type or a signature of numba, which has no types of its own for them
Emitted: TypeAlias = tuple[Kind, Code]  # a signature, and what writes the instructions
F = TypeVar("F", bound=Code)
_DIGEST_LETTERS = 12
_njit: Any = numba.njit
types: Any = numba.core.types  # What numba calls things.


@cache
def digest_of_sources() -> str:
    """Changes with every file of this package."""
    files = sorted(Path(__file__).parent.glob("*.py"))
    return sha256(b"".join(sha256(file.read_bytes()).digest() for file in files)).hexdigest()[
        :_DIGEST_LETTERS
    ]


def part(function: F) -> F:
    """A function that compiled functions call."""
    return cast(F, _njit(no_cpython_wrapper=True, no_cfunc_wrapper=True)(function))


def emitted(function: Callable[..., Emitted]) -> Code:
    """A function that compiled functions call and that writes its own instructions."""
    return cast(Code, intrinsic(function))


def by_type(generic: Code) -> Callable[[F], F]:
    """A form of `generic` for the types that the decorated function accepts; their names may differ."""
    return cast(Callable[[F], F], overload(generic, strict=False))


@cache
def entry(function: Code, signature: Kind) -> Code:
    """The machine code of a function for one signature: from disk, or compiled now."""
    function.__qualname__ = f"{function.__name__}_{digest_of_sources()}"
    try:
        return cast(Code, _njit([signature], nogil=True, cache=True)(function))
    except RuntimeError as error:
        if "no locator available" not in str(error):
            raise
        return cast(Code, _njit([signature], nogil=True)(function))
