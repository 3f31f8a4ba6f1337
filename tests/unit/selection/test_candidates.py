"""The candidates: their costs are those of the randomizers that they stand for."""

import numpy as np
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.randomizers.parts.packing import packed_size
from localdp.randomness.hazmat import SeededSource
from localdp.selection.candidates import FAMILIES, Candidate, Family

PEOPLE = 1000


def candidate_of(family: Family, inputs: int, epsilon: float = 1, people: int = PEOPLE) -> Candidate:
    member = next(iter(family.members(Epsilon.requested(epsilon), inputs)))
    return family.candidate(member, inputs, people, 1 / inputs)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_bits_are_those_of_a_packed_report(family: Family) -> None:
    candidate = candidate_of(family, 20)
    randomizer = candidate.randomizer
    assert randomizer is not None
    packed = randomizer.pack(randomizer.randomize(np.arange(16), SeededSource(0)))
    assert len(packed) == packed_size(16, candidate.report_bits)
    assert candidate.private_bits >= 1


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_the_family_name_is_that_of_the_randomizer(family: Family) -> None:
    randomizer = candidate_of(family, 20).randomizer
    assert randomizer is not None
    assert randomizer.canonical.startswith(f"{family.name}(")


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_decoding_takes_longer_with_more_people_and_inputs(family: Family) -> None:
    few, many = (candidate_of(family, 100, people=people).decode_seconds for people in (10**4, 10**7))
    small, large = (candidate_of(family, inputs).decode_seconds for inputs in (100, 4000))
    assert few < many and small < large


def test_hashing_every_pair_is_the_slowest_way_to_decode() -> None:
    seconds = {
        family.name: candidate_of(family, 4000, people=10**6).decode_seconds
        for family in FAMILIES
        if family.name != "subset-selection"
    }
    assert max(seconds, key=seconds.__getitem__) == "local-hashing"
    assert seconds["local-hashing"] == pytest.approx(20, rel=0.1)  # 4e9 pairs at 5 ns
