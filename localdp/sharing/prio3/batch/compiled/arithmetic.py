"""Arithmetic for both fields under one set of names: what compiled code calls it with decides which field is meant.

One word is an element of `field64`, a pair of words one of `field128`.  So each step of the protocol is written once, and
compiled for each field that is used.

Checked against Python integers, for both fields, in tests/unit/sharing/prio3/test_compiled_fields.py.
"""

from typing import TypeVar

from localdp.sharing.prio3.batch.compiled import field64, field128
from localdp.sharing.prio3.batch.compiled.toolchain import F, Kind, by_type, types
from localdp.sharing.prio3.batch.compiled.words import Accumulator, Pair, Word
from localdp.sharing.prio3.batch.words import Words

Element = TypeVar("Element", Word, Pair)


def _by_field(generic: F) -> F:
    """The function of that name in the field of the last argument."""

    @by_type(generic)
    def _(*arguments: Kind) -> Kind:
        field = field128 if isinstance(arguments[-1], types.BaseTuple) else field64
        return getattr(field, generic.__name__).py_func

    return generic


@_by_field
def add(a: Element, b: Element) -> Element:
    """a + b."""
    raise NotImplementedError


@_by_field
def subtract(a: Element, b: Element) -> Element:
    """a - b."""
    raise NotImplementedError


@_by_field
def multiply(factor: Element, element: Element) -> Element:
    """factor * element, in the form of `element`: elements stay elements, factors stay factors."""
    raise NotImplementedError


@_by_field
def lift(element: Element) -> Element:
    """An element as a factor."""
    raise NotImplementedError


@_by_field
def nothing(element: Element) -> Accumulator:
    """An empty accumulator for elements of this kind."""
    raise NotImplementedError


@_by_field
def accumulate(sums: Accumulator, factor: Element, element: Element) -> Accumulator:
    """The accumulator with one more product."""
    raise NotImplementedError


@_by_field
def accumulate_element(sums: Accumulator, element: Element) -> Accumulator:
    """The accumulator with one more element."""
    raise NotImplementedError


@_by_field
def collapse(sums: Accumulator, like: Element) -> Element:
    """The element that an accumulator stands for."""
    raise NotImplementedError


@_by_field
def is_reduced(element: Element) -> bool:
    """Whether words are below the modulus."""
    raise NotImplementedError


@_by_field
def load(words: Words, row: int, place: int, like: Element) -> Element:
    """Element number `place` of a row, of the kind of `like`."""
    raise NotImplementedError


@_by_field
def store(words: Words, row: int, place: int, element: Element) -> None:
    """Write element number `place` of a row."""
    raise NotImplementedError
