"""Flooded rounds travel as they are, and what comes is checked."""

from collections.abc import Callable

import numpy as np
import pytest

from localdp.errors import InvalidParameter, LocalDpError, MalformedReport
from localdp.sharing.flooded_batch import SEALED_BYTES
from parties.flood_codec import MESSAGES_OF_A_PART, packed, received, round_from_wire, round_to_wire, slices
from parties.receiving import Piece
from parties.wire.v1 import flooding_pb2 as pb
from tests.support.flooding import plan_of, question_of, round_at

ROUND = round_at(question_of(plan_of(100, 90)), ("north", 60), ("south", 40))
Change = Callable[[pb.FloodedRound], None]


def test_a_round_is_the_same_at_the_other_end() -> None:
    there = round_from_wire(round_to_wire(ROUND))
    assert there == ROUND
    assert there.digest == ROUND.digest


def changed(name: str, value: object) -> Change:
    return lambda message: setattr(message.question, name, value)


@pytest.mark.parametrize(
    "change",
    [
        changed("round_id", b"short"),
        changed("query", ""),
        changed("epsilon_nanonats", 0),
        changed("delta_trillionths", 0),
        changed("delta_trillionths", 1),  # so little noise is not enough for it
        changed("pairs", 0),
        changed("pairs", 1 << 40),
        changed("rate_billionths", 0),
        changed("people", 101),
        changed("honest", 101),
        changed("honest", 1),
        changed("key", b"\x00" * 32),
        lambda message: message.ClearField("question"),
        lambda message: message.ClearField("parts"),
        lambda message: setattr(message.question.sums, "entries", 0),
        lambda message: setattr(message.question.sums, "falling", 3),
        lambda message: setattr(message.parts[0], "stop", 61),
        lambda message: setattr(message.parts[0], "name", "south"),
        lambda message: setattr(message.parts[0], "name", "x" * 200),
    ],
)
def test_what_is_out_of_bounds_is_refused(change: Change) -> None:
    message = round_to_wire(ROUND)
    change(message)
    with pytest.raises(LocalDpError):
        round_from_wire(message)


def test_messages_are_cut_by_their_number_alone() -> None:
    parts = list(slices(2 * MESSAGES_OF_A_PART + 1))
    assert [part.stop - part.start for part in parts] == [MESSAGES_OF_A_PART, MESSAGES_OF_A_PART, 1]
    assert SEALED_BYTES * MESSAGES_OF_A_PART < 1 << 19


def test_messages_come_back_as_rows_and_others_are_refused() -> None:
    rows = np.arange(4 * SEALED_BYTES).astype(np.uint8).reshape(4, SEALED_BYTES)
    told = [packed(rows[:3]), packed(rows[3:])]
    assert (received(Piece(one.reports, one.packed) for one in told) == rows).all()
    assert received([]).shape == (0, SEALED_BYTES)
    with pytest.raises(MalformedReport):
        received([Piece(2, rows[:1].tobytes())])


def test_a_refusal_of_a_round_is_one_of_ours() -> None:
    with pytest.raises(InvalidParameter):
        round_from_wire(pb.FloodedRound())
