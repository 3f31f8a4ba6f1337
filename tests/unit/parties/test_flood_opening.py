"""An analyst opens messages with a key of this round alone, here or in processes of its own."""

from dataclasses import replace

import numpy as np
import pytest

from localdp.errors import MalformedReport
from localdp.oracles.flood_mixing import MixedFlood
from localdp.sharing.flooded_batch import FloodedBatch
from localdp.sharing.flooded_round import round_digest
from parties import flood_opening
from parties.flood_opening import FloodAnalyst
from tests.support.flooding import plan_of, question_of

QUESTION = question_of(plan_of(100), b"")
ROSTER = b"r" * 32
CODES = np.arange(30, dtype=np.uint32)


def mixed_for(analyst: FloodAnalyst) -> MixedFlood:
    digest = round_digest(analyst.question, ROSTER)
    batch = FloodedBatch.of(CODES, b"s" * 16, digest, analyst.question.key)
    return MixedFlood(batch.messages(0, 30), 100, ROSTER)


@pytest.mark.parametrize("few", [30, 29])
def test_codes_come_out_in_their_order_however_they_are_opened(
    few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(flood_opening, "FEW", few)
    analyst = FloodAnalyst(QUESTION, workers=2)
    assert (analyst.opened(mixed_for(analyst)).messages == CODES).all()


def test_each_round_has_a_key_of_its_own() -> None:
    one, other = FloodAnalyst(QUESTION), FloodAnalyst(QUESTION)
    assert one.question.key != other.question.key
    assert not other.opened(mixed_for(one)).messages.any()


def test_another_roster_opens_nothing_and_none_is_refused() -> None:
    analyst = FloodAnalyst(QUESTION)
    mixed = mixed_for(analyst)
    assert not analyst.opened(replace(mixed, roster=b"q" * 32)).messages.any()
    with pytest.raises(MalformedReport):
        analyst.opened(replace(mixed, roster=b""))
