"""A party reads off records the very inputs that an audit means, for every randomizer of the catalogue."""

import numpy as np
import pytest

from localdp.auditing.drawing import ends, values_of
from localdp.auditing.inputs_as_records import asked_of
from localdp.party.question import Question
from localdp.randomizers.input_kinds import FingerprintInput
from localdp.randomizers.marginals import HadamardMarginals
from localdp.randomizers.parts.universal_hash import fingerprints
from localdp.randomizers.registry import REGISTRY
from tests.unit.auditing.twins import EPSILON, NAMES


@pytest.mark.parametrize("size", [2, 3, None])
@pytest.mark.parametrize("name", NAMES)
def test_records_hold_the_inputs(name: str, size: int | None) -> None:
    entry = REGISTRY[name]
    randomizer = entry.made(EPSILON, size or entry.small)
    open_domain = randomizer.takes == FingerprintInput()
    tried = range(4) if open_domain else entry.tried(randomizer, size or entry.small) or ends(randomizer)
    asked = asked_of(randomizer)
    inputs = Question.asked(asked.query, asked.schema, randomizer).inputs(asked.records(randomizer, tried))
    if open_domain:
        assert (inputs == fingerprints(str(label) for label in tried)).all()
        return
    assert (np.asarray(inputs) == np.concatenate([values_of(randomizer, value) for value in tried])).all()


def test_labels_of_marginals_are_the_highest_bit() -> None:
    marginals = HadamardMarginals(EPSILON, 3, 2, labelled=True)
    asked = asked_of(marginals)
    records = asked.records(marginals, range(8))
    assert Question.asked(asked.query, asked.schema, marginals).inputs(records).tolist() == list(range(8))
