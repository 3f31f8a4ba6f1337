"""Who verifies a block of reports: which of the two implementations of a server's steps (`role.Engine`) is taken.

`NumpyEngine` needs numpy only.  `CompiledEngine` needs numba (the extra `shared`), is an order of magnitude faster, and
makes the same bytes, for bad reports too.  The fastest one that is installed is taken; LOCALDP_NO_NUMBA=1 in the
environment takes the plain one.  Numba is imported no earlier than a block is to be verified or sharded.

The first use of compiled code on a machine compiles it, for about ten seconds for each field; later processes load it, in
less than one.  `warm_up` does that at a moment of the caller's choice, and tells what it is waiting for.  Whoever does not
want to wait has another thread run `warm_up_later`, and goes on without: `is_ready` and `is_under_way` say how far it is.

Checked in tests/unit/sharing/prio3/test_engines.py and tests/unit/sharing/prio3/test_compiled_toolchain.py.
"""

import os
import sys
from collections.abc import Callable

from localdp.errors import InvalidParameter
from localdp.sharing.prio3.batch.role import Engine, Role, Tell
from localdp.sharing.prio3.prio3 import Prio3

WITHOUT_NUMBA = "LOCALDP_NO_NUMBA"


def can_compile(prio3: Prio3) -> bool:
    """Whether compiled code is installed, wanted, and knows the circuit."""
    from localdp.sharing.prio3.batch.compiled.plan import has_plan

    return has_plan(prio3) and compiler_is_wanted()


def compiler_is_wanted() -> bool:
    """Whether a compiler is installed, wanted, and made for the order of bytes of this machine."""
    if os.environ.get(WITHOUT_NUMBA, "0") not in ("", "0") or sys.byteorder != "little":
        return False
    try:
        import numba
    except ImportError:  # Also raised by a numba that does not fit the numpy beside it.
        return False
    return not getattr(numba.config, "DISABLE_JIT", 0)


def use_compiled(prio3: Prio3, compiled: bool | None) -> bool:
    """The caller's choice; where it is left open, whatever is fastest."""
    if compiled and not can_compile(prio3):
        raise InvalidParameter("compiled verification needs numba, and one of the circuits of the draft")
    return can_compile(prio3) if compiled is None else compiled


def engine_for(role: Role, compiled: bool | None) -> Engine:
    """The implementation of a role."""
    if use_compiled(role.prio3, compiled):
        from localdp.sharing.prio3.batch.compiled.engine import CompiledEngine

        return CompiledEngine(role)
    from localdp.sharing.prio3.batch.numpy_engine import NumpyEngine

    return NumpyEngine(role)


_Code = tuple[int, bool]  # Bytes of an element, and whether it is for sharding.
_ready: set[_Code] = set()
_under_way: set[_Code] = set()


def is_ready(prio3: Prio3, sharding: bool = False) -> bool:
    """Whether compiled code is loaded in this process, and wanted."""
    return _code(prio3, sharding) in _ready and can_compile(prio3)


def is_under_way(prio3: Prio3, sharding: bool = False) -> bool:
    """Whether somebody is about to compile or load it."""
    return _code(prio3, sharding) in _under_way


def warm_up(prio3: Prio3, tell: Tell | None = None, sharding: bool = False) -> None:
    """Compile now, or load from disk, what verifying (and sharding, if asked for) an instance needs."""
    if can_compile(prio3):
        _warm_up(prio3, tell or (lambda *_: None), sharding)


def warm_up_later(
    prio3: Prio3, tell: Tell | None = None, sharding: bool = False
) -> Callable[[], None] | None:
    """The same as work that another thread does, which counts as under way at once; None if there is nothing to do."""
    code = _code(prio3, sharding)
    if code in _ready or code in _under_way or not can_compile(prio3):
        return None
    _under_way.add(code)
    return lambda: _warm_up(prio3, tell or (lambda *_: None), sharding)


def _warm_up(prio3: Prio3, tell: Tell, sharding: bool) -> None:
    from localdp.sharing.prio3.batch.compiled.steps import build

    codes = {_code(prio3, False), _code(prio3, sharding)}
    _under_way.update(codes)
    try:
        build(prio3, tell, sharding)
        _ready.update(codes)
    finally:
        _under_way.difference_update(codes)


def _code(prio3: Prio3, sharding: bool) -> _Code:
    return prio3.field.encoded_bytes, sharding
