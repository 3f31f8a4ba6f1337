"""Arithmetic for both fields under one set of names: what compiled code calls it with decides which field is meant.

One word is an element of `field64`, a pair of words one of `field128`.  So each step of the protocol is written once, and
compiled for each field that is used.

Checked against Python integers, for both fields, in tests/unit/sharing/prio3/test_compiled_fields.py.
"""

from typing import Any

from localdp.sharing.prio3.batch.compiled import field64, field128
from localdp.sharing.prio3.batch.compiled.toolchain import by_type, types


def _of(element: Any) -> Any:
    return field128 if isinstance(element, types.BaseTuple) else field64


def add(a: Any, b: Any) -> Any:
    """a + b."""
    raise NotImplementedError


def subtract(a: Any, b: Any) -> Any:
    """a - b."""
    raise NotImplementedError


def multiply(factor: Any, element: Any) -> Any:
    """factor * element, in the form of `element`: elements stay elements, factors stay factors."""
    raise NotImplementedError


def lift(element: Any) -> Any:
    """An element as a factor."""
    raise NotImplementedError


def nothing(element: Any) -> Any:
    """An empty accumulator for elements of this kind."""
    raise NotImplementedError


def accumulate(sums: Any, factor: Any, element: Any) -> Any:
    """The accumulator with one more product."""
    raise NotImplementedError


def accumulate_element(sums: Any, element: Any) -> Any:
    """The accumulator with one more element."""
    raise NotImplementedError


def collapse(sums: Any, like: Any) -> Any:
    """The element that an accumulator stands for."""
    raise NotImplementedError


def is_reduced(element: Any) -> Any:
    """Whether words are below the modulus."""
    raise NotImplementedError


def load(words: Any, row: Any, place: Any, like: Any) -> Any:
    """Element number `place` of a row, of the kind of `like`."""
    raise NotImplementedError


def store(words: Any, row: Any, place: Any, element: Any) -> None:
    """Write element number `place` of a row."""
    raise NotImplementedError


@by_type(add)
def _add(a: Any, b: Any) -> Any:
    return _of(a).add.py_func


@by_type(subtract)
def _subtract(a: Any, b: Any) -> Any:
    return _of(a).subtract.py_func


@by_type(multiply)
def _multiply(factor: Any, element: Any) -> Any:
    return _of(element).multiply.py_func


@by_type(lift)
def _lift(element: Any) -> Any:
    return _of(element).lift.py_func


@by_type(nothing)
def _nothing(element: Any) -> Any:
    return _of(element).nothing.py_func


@by_type(accumulate)
def _accumulate(sums: Any, factor: Any, element: Any) -> Any:
    return _of(element).accumulate.py_func


@by_type(accumulate_element)
def _accumulate_element(sums: Any, element: Any) -> Any:
    return _of(element).accumulate_element.py_func


@by_type(collapse)
def _collapse(sums: Any, like: Any) -> Any:
    return _of(like).collapse.py_func


@by_type(is_reduced)
def _is_reduced(element: Any) -> Any:
    return _of(element).is_reduced.py_func


@by_type(load)
def _load(words: Any, row: Any, place: Any, like: Any) -> Any:
    return _of(like).load.py_func


@by_type(store)
def _store(words: Any, row: Any, place: Any, element: Any) -> Any:
    return _of(element).store.py_func
