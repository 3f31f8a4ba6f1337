"""What waits for the owner: which questions, at which price, until which decision; and the broken twin that swaps one."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.ledger import MemoryLedger
from localdp.cohorts import Cohort
from localdp.domains import BitDomain, Records, Schema
from localdp.errors import ApprovalNeeded, PolicyRefused
from localdp.party.party import Party, Request
from localdp.party.policy import Policy
from localdp.randomizers.k_ary import KaryRandomizedResponse
from parties.agent import approval
from parties.agent.approval import (
    ApprovalRules,
    Approvals,
    Waiting,
    approved_as,
    decision_about,
    put,
    take,
    waiting,
)
from parties.agent.entries import Decided
from tests.support.flooding import plan_of, question_of, round_at
from tests.support.people import population

HALF, ONE, TWO = (Epsilon.requested(text) for text in ("0.5", "1", "2"))
EVERYBODY = Cohort(0, 4)
BITS = Records(Schema({"bit": BitDomain()}), {"bit": np.array([True, False, True, True])})


class World:
    """A party, whose owner decides."""

    def __init__(self, directory: Path, rules: ApprovalRules) -> None:
        self.ledger = MemoryLedger(4, Epsilon.requested(20))
        self.party = Party("a", BITS, bytes(32), self.ledger)
        self.decisions: tuple[Decided, ...] = ()
        self.directory = directory
        self.party.require_approved = Approvals(rules, lambda: self.decisions, directory).require
        self._numbers = iter(range(1000))

    def ask(self, caller: str = "ada", epsilon: float = 1, query: str = "bit") -> None:
        request = Request(
            next(self._numbers).to_bytes(16, "big"),
            query,
            KaryRandomizedResponse(Epsilon.requested(epsilon), 2),
        )
        asked: list[Callable[..., object]] = [self.party.granted, self.party.charged]
        refused = []
        for way in asked:  # a quote says what the call would say
            try:
                way(request, EVERYBODY, caller)
            except PolicyRefused as error:
                refused.append(error)
        if refused:
            assert len(refused) == 2
            raise refused[0]

    def decide(self, number: str, *, allowed: bool) -> None:
        (one,) = [one for one in waiting(self.directory) if one.number == number]
        self.decisions = (*self.decisions, one.decided(allowed=allowed))
        take(self.directory, number)


def test_a_question_waits_until_its_owner_has_approved_it_and_nobody_is_charged(tmp_path: Path) -> None:
    world = World(tmp_path, ApprovalRules(columns=frozenset({"bit"})))
    for _ in range(3):
        with pytest.raises(
            ApprovalNeeded, match=r"waits for the owner's approval \(approval.columns\), as number"
        ):
            world.ask()
    (one,) = waiting(tmp_path)
    assert (one.caller, one.question) == ("ada", "bit") and float(one.cost) == pytest.approx(1, abs=1e-8)
    assert not world.ledger.spent().any()
    world.decide(one.number, allowed=True)
    world.ask()
    assert world.ledger.spent().all() and not waiting(tmp_path)
    with pytest.raises(ApprovalNeeded):
        world.ask("eve")  # it was ada's


def road(seen: int, loads: str, step: int = 4) -> str:
    return f"road([0.1, 0.2], [1, 1], {step}, 50, {seen}, [{loads}], bit, not bit; bit)"


def test_a_game_is_approved_once_for_all_of_its_moves_and_for_no_other_game(tmp_path: Path) -> None:
    world = World(tmp_path, ApprovalRules(questions=True))
    for first in (road(0, "0, 0"), road(1, "0.4, 0.6")):
        with pytest.raises(ApprovalNeeded):
            world.ask(query=first)
    (one,) = waiting(tmp_path)
    assert one.question == f"any move of {road(0, '0, 0')}"
    world.decide(one.number, allowed=True)
    for seen in range(4):
        world.ask(query=road(seen, f"{seen / 2}, {seen / 2}"))
    for other in (road(1, "0.4, 0.6", step=5), road(1, "13, 0"), road(50, "25, 25")):
        with pytest.raises(ApprovalNeeded):  # another game, and loads that this one cannot have had
            world.ask(query=other)
    with pytest.raises(ApprovalNeeded):
        world.ask(query=road(2, "1, 1"), epsilon=2)


def test_an_approval_of_reports_is_none_of_flooded_messages(tmp_path: Path) -> None:
    """A report of epsilon 1 says little of its person to anybody; a message of such a round says all to its shuffler."""
    ledger, decisions = MemoryLedger(60, ONE * 3), list[Decided]()
    policy = Policy(ONE, shuffler="mixer", largest_delta_flooded=Fraction(1, 1000))
    party = Party("party-0", population(60), bytes(32), ledger, policy)
    rules = ApprovalRules(questions=True)
    party.require_approved = Approvals(rules, lambda: tuple(decisions), tmp_path).require
    question = question_of(plan_of(100, 100))
    asked, everybody = round_at(question, ("party-0", 60), ("party-1", 40)), Cohort(0, 60)
    decisions.append(Decided("mixer", question.query, ONE, True))
    report = Request(bytes(16), question.query, KaryRandomizedResponse(ONE, 2), mixed=True)
    party.granted(report, everybody, "mixer")
    with pytest.raises(ApprovalNeeded):
        party.flooded(asked, everybody, "mixer")
    (one,) = waiting(tmp_path)
    assert one.question == f"flooded: {question.query}" and not ledger.spent().any()
    decisions.append(one.decided(allowed=True))
    party.flooded(asked, everybody, "mixer")
    assert ledger.spent().all()


def test_a_flooded_game_is_approved_once_too() -> None:
    game = f"any move of {road(0, '0, 0')}"
    assert (
        approved_as(road(2, "1, 1")) == game
        and approved_as(f"flooded: {road(2, '1, 1')}") == f"flooded: {game}"
    )


def test_a_question_that_was_refused_stays_refused_and_waits_no_more(tmp_path: Path) -> None:
    world = World(tmp_path, ApprovalRules(questions=True))
    with pytest.raises(ApprovalNeeded):
        world.ask()
    world.decide(waiting(tmp_path)[0].number, allowed=False)
    with pytest.raises(
        PolicyRefused, match=r"refused this question at this epsilon \(approval.questions\)"
    ) as refused:
        world.ask(epsilon=2)
    assert not isinstance(refused.value, ApprovalNeeded) and not waiting(tmp_path)


def test_what_need_not_be_approved_is_not(tmp_path: Path) -> None:
    world = World(tmp_path, ApprovalRules(columns=frozenset({"other"}), analysts=frozenset({"eve"})))
    world.ask()
    with pytest.raises(ApprovalNeeded, match=r"\(approval.analysts\)"):
        world.ask("eve")


def test_a_decision_speaks_of_its_price_and_the_last_one_counts() -> None:
    def about(cost: Epsilon, *decisions: tuple[Epsilon, bool]) -> bool | None:
        made = tuple(Decided("ada", "bit", price, allowed) for price, allowed in decisions)
        found = decision_about(Waiting("ada", "bit", cost, ""), (Decided("eve", "bit", TWO, True), *made))
        return None if found is None else found.allowed

    assert about(HALF, (ONE, True)) is True and about(TWO, (ONE, True)) is None
    assert about(HALF, (ONE, False)) is None and about(TWO, (ONE, False)) is False
    assert (
        about(HALF, (HALF, True), (TWO, False)) is True and about(TWO, (HALF, True), (TWO, False)) is False
    )
    assert (
        about(ONE, (TWO, True), (HALF, False)) is False and about(ONE, (HALF, False), (ONE, True)) is True
    )


def test_a_number_stands_for_one_question_at_one_price(tmp_path: Path) -> None:
    """Or an analyst could have one thing looked at and another approved."""
    world = World(tmp_path, ApprovalRules(questions=True))
    for epsilon in (0.5, 2):
        with pytest.raises(ApprovalNeeded):
            world.ask(epsilon=epsilon)
    cheap, dear = waiting(tmp_path)
    assert cheap.number != dear.number
    world.decide(cheap.number, allowed=True)
    world.ask(epsilon=0.5)
    with pytest.raises(ApprovalNeeded):
        world.ask(epsilon=2)


def test_so_many_wait_at_most(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(approval, "MOST_OF_CALLER", 3)
    monkeypatch.setattr(approval, "MOST_WAITING", 4)
    for number in range(3):
        put(tmp_path, Waiting("ada", f"bit and {number}", ONE, "approval.questions"))
    with pytest.raises(ApprovalNeeded, match="too many wait already"):
        put(tmp_path, Waiting("ada", "bit", ONE, "approval.questions"))
    put(tmp_path, Waiting("eve", "bit", ONE, "approval.questions"))
    with pytest.raises(ApprovalNeeded, match="too many wait already"):
        put(tmp_path, Waiting("bob", "bit", ONE, "approval.questions"))
    assert len(waiting(tmp_path)) == 4
    assert (tmp_path / approval.WAITING_NAME).stat().st_mode & 0o077 == 0
