"""What parties write into ledgers, taken apart: rounds of one question have one name, whatever they differ in."""

from __future__ import annotations

import pytest

import localdp as ldp
from localdp.accounting.ledger import Charge, MemoryLedger, Receipt
from parties.agent.purposes import question_of
from parties.federation import Federation
from tests.support.federations import people


@pytest.fixture
def purposes(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Of all that is charged."""
    charge, heard = MemoryLedger.charge, list[str]()

    def hearing(self: MemoryLedger, one: Charge) -> Receipt:
        heard.append(one.purpose)
        return charge(self, one)

    monkeypatch.setattr(MemoryLedger, "charge", hearing)
    return heard


def answer(clinics: Federation, model: str) -> None:
    clinics.oracle(model, 1).answer(["smoker and age >= 65"])


@pytest.mark.parametrize("model", ["local", "shuffled", "flooded", "shared"])
def test_rounds_of_one_question_have_one_name(purposes: list[str], model: str) -> None:
    with ldp.simulate(people(2000), parties=2, budget=30) as clinics:
        for _ in range(2):
            answer(clinics, model)
    assert {question_of(one)[0] for one in purposes} == {"smoker and age >= 65"}
    assert len(set(purposes)) == (2 if model == "shared" else 1)  # as they stand in the ledger


def test_an_estimate_of_blocks_is_part_of_the_question(purposes: list[str]) -> None:
    with ldp.simulate(people(2000), parties=2, budget=30) as clinics:
        for estimate in ("mean(age)", "deviation(age)"):
            blocks = ldp.SampleAndAggregate(estimate, 0, 120, by="mean", check_signal=False)
            for _ in range(2):
                clinics.release(blocks, epsilon=1, model="shared")
    told = {question_of(one)[0] for one in purposes}
    assert len(told) == 2
    assert [estimate in " ".join(told) for estimate in ("mean(age)", "deviation(age)")] == [True, True]


@pytest.mark.parametrize(
    ("purpose", "told"),
    [
        (
            "joint selection, largest of which(a, b), servers' keys 18d91118",
            ("which(a, b)", "by joint selection, largest, servers' keys 18d91118"),
        ),
        (
            "divided(1) collection of ward in {'x of y, servers'}, servers' keys 18d91118",
            ("ward in {'x of y, servers'}", "by divided(1) collection, servers' keys 18d91118"),
        ),
        ("k-ary(epsilon=1) of ward of the north", ("ward of the north", "by k-ary(epsilon=1)")),
        ("a loss", ("a loss", "")),
    ],
)
def test_purposes_are_taken_apart(purpose: str, told: tuple[str, str]) -> None:
    assert question_of(purpose) == told
