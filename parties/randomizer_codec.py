"""Randomizers to and from the wire: parameters only, under the names of the message's fields.

Rebuilding one runs its constructor, which checks the parameters and derives the thresholds; the epsilon of what comes
out is that of the law that it has.  What is in no row of the registry, or outside its bounds, is refused.
Checked in tests/unit/parties/test_randomizer_codec.py.
"""

from __future__ import annotations

from collections.abc import MutableSequence
from typing import Any

from localdp.errors import InvalidParameter
from localdp.randomizers.definition import LocalRandomizer, Parameters
from localdp.randomizers.registry import class_of, wire_name_of
from parties.wire.v1 import randomizer_pb2 as pb


def randomizer_to_wire(randomizer: LocalRandomizer) -> pb.Randomizer:
    """The parameters of a randomizer."""
    message: Any = {wire_name_of(randomizer): randomizer.parameters}
    return pb.Randomizer(**message)


def randomizer_from_wire(randomizer: pb.Randomizer) -> LocalRandomizer:
    """The randomizer that the parameters describe, with the epsilon that its law has."""
    kind = randomizer.WhichOneof("kind")
    if kind is None:
        raise InvalidParameter("this randomizer is not known here")
    rebuilt: LocalRandomizer = class_of(kind).from_parameters(_parameters(getattr(randomizer, kind)))
    return rebuilt


def _parameters(message: Any) -> Parameters:
    """The fields of a message by name, whether they were sent or have the value of those that were not."""
    return {field.name: _plain(getattr(message, field.name), field) for field in message.DESCRIPTOR.fields}


def _plain(value: Any, field: Any) -> Any:
    # The descriptor says so, too, but under a name that changes between versions of protobuf.
    repeated = isinstance(value, MutableSequence)
    if field.message_type is None:
        return tuple(value) if repeated else value
    return tuple(map(_parameters, value)) if repeated else _parameters(value)
