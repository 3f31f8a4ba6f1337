"""Descriptions of randomizers: the same object at both ends, and nothing that is out of bounds."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localdp.accounting.epsilon import Epsilon
from localdp.errors import InvalidParameter, LocalDpError
from localdp.randomizers.definition import LocalRandomizer
from localdp.randomizers.local_laplace import LocalDiscreteLaplace
from localdp.randomizers.registry import ENTRIES
from parties.codec import randomizer_from_wire, randomizer_to_wire
from parties.wire.v1 import randomizer_pb2 as pb

ONE = Epsilon.requested(1)
EVERY_KIND: list[LocalRandomizer] = [
    randomizer for entry in ENTRIES for randomizer in (*entry.examples(ONE), entry.made(ONE, 100))
]


@pytest.mark.parametrize("randomizer", EVERY_KIND, ids=lambda randomizer: randomizer.canonical)
def test_both_ends_have_the_same_randomizer(randomizer: LocalRandomizer) -> None:
    described = randomizer_to_wire(randomizer).SerializeToString()
    rebuilt = randomizer_from_wire(pb.Randomizer.FromString(described))
    assert rebuilt == randomizer
    assert rebuilt.canonical == randomizer.canonical
    assert rebuilt.epsilon == randomizer.epsilon
    assert rebuilt.report_bits == randomizer.report_bits


def test_every_kind_of_the_contract_is_covered() -> None:
    kinds = {randomizer_to_wire(randomizer).WhichOneof("kind") for randomizer in EVERY_KIND}
    assert kinds == {field.name for field in pb.Randomizer.DESCRIPTOR.oneofs_by_name["kind"].fields}


def test_every_field_of_every_message_is_filled() -> None:
    """Else one that the codec loses, and that has a default, would not be missed."""
    filled = {
        (message.DESCRIPTOR.name, field.name)
        for randomizer in EVERY_KIND
        for _, message in randomizer_to_wire(randomizer).ListFields()
        for field, _ in message.ListFields()
    }
    messages = [kind.message_type for kind in pb.Randomizer.DESCRIPTOR.oneofs_by_name["kind"].fields]
    assert filled == {(kind.name, field.name) for kind in messages if kind for field in kind.fields}


def test_a_class_that_is_in_no_row_has_no_form_on_the_wire() -> None:
    class Louder(LocalDiscreteLaplace):
        """Somebody's own."""

    with pytest.raises(InvalidParameter, match="no form on the wire"):
        randomizer_to_wire(Louder(ONE, 4))


@pytest.mark.parametrize(
    "kind", [field.name for field in pb.Randomizer.DESCRIPTOR.oneofs_by_name["kind"].fields]
)
def test_an_empty_description_is_refused(kind: str) -> None:
    empty = pb.Randomizer()
    getattr(empty, kind).SetInParent()
    with pytest.raises(InvalidParameter):
        randomizer_from_wire(empty)


def test_an_unknown_randomizer_is_refused() -> None:
    unknown = pb.Randomizer.FromString(b"\xfa\x7f\x02\x08\x01")  # field 2047, which nobody has
    with pytest.raises(InvalidParameter, match="not known"):
        randomizer_from_wire(unknown)


def test_a_channel_whose_true_epsilon_is_infinite_is_refused() -> None:
    rows = [pb.ChannelRow(weights=(1, 0)), pb.ChannelRow(weights=(0, 1))]
    with pytest.raises(InvalidParameter):
        randomizer_from_wire(pb.Randomizer(finite_channel=pb.FiniteChannel(rows=rows)))


def test_the_epsilon_of_a_channel_is_what_its_matrix_has() -> None:
    rows = [pb.ChannelRow(weights=(3, 1)), pb.ChannelRow(weights=(1, 3))]
    channel = randomizer_from_wire(pb.Randomizer(finite_channel=pb.FiniteChannel(rows=rows)))
    assert str(channel.epsilon) == "1.098612289"  # log 3, rounded up


@given(st.sampled_from(EVERY_KIND), st.data())
@settings(max_examples=300, deadline=None)
def test_hostile_numbers_are_refused_or_harmless(randomizer: LocalRandomizer, data: st.DataObject) -> None:
    message = randomizer_to_wire(randomizer)
    kind = message.WhichOneof("kind")
    assert kind is not None
    inner = getattr(message, kind)
    numbers = [
        field for field in inner.DESCRIPTOR.fields if field.type in (field.TYPE_UINT32, field.TYPE_UINT64)
    ]
    for field in numbers:
        most = (1 << 32) - 1 if field.type == field.TYPE_UINT32 else (1 << 64) - 1
        kept = getattr(inner, field.name)
        setattr(inner, field.name, data.draw(st.sampled_from([kept, kept, 0, 1, 2, 3, most // 2, most])))
    try:
        rebuilt = randomizer_from_wire(message)
    except LocalDpError:
        return
    assert rebuilt.epsilon <= Epsilon.requested(30) or kind in (
        "basic_rappor",
        "bloom_rappor",
        "finite_channel",
    )
