"""Two epochs of a real party, through every coin: no randomizer loses more over all its answers than the ledger booked."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import inf, log
from typing import Any

import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.auditing.coin_table import Coin, joint_law
from localdp.auditing.drawing import ends
from localdp.auditing.histories import (
    History,
    Schedule,
    answers_of,
    best_told,
    change_audit,
    histories_of,
    history_audit,
    permanent_of,
)
from localdp.auditing.result import HistoryAudit
from localdp.errors import InvalidParameter
from localdp.party.party import Party
from localdp.randomizers.input_kinds import FingerprintInput
from localdp.randomizers.k_ary import KaryRandomizedResponse
from localdp.randomizers.memoised import (
    MemoisedUnary,
    memoised_optimized_unary,
    memoised_symmetric_unary,
)
from localdp.randomizers.memoised_hashing import MemoisedHashing
from localdp.randomizers.one_bit import OneBitRandomizer
from localdp.randomizers.registry import REGISTRY
from localdp.randomness.source import WORD_RANGE
from tests.support.broken_epochs import (
    MemoChargedOnce,
    MemoNamedOnce,
    OldReportCoins,
    OldRows,
    OldSecondRound,
    PermanentForGood,
    WithoutEpochs,
)
from tests.unit.auditing.twins import EPSILON, NAMES, small

HALF, REPORT = Epsilon.requested("0.5"), Epsilon.requested("0.4")
MEMOS: dict[str, Any] = {
    "symmetric": memoised_symmetric_unary(HALF, REPORT, 2),
    "optimized": memoised_optimized_unary(HALF, REPORT, 2),
    "hashing": MemoisedHashing(REPORT, HALF, 2),
}
UNARY = MEMOS["symmetric"]
FAMILIES = ("symmetric", "hashing")
TERNARY = KaryRandomizedResponse(EPSILON, 3)
SAME, OTHERS = ((1,), (1,)), ((1,), (2,))


def told_apart(randomizer: Any) -> tuple[Any, Any]:
    """Two inputs that reports tell apart."""
    return best_told(randomizer, range(4) if randomizer.takes == FingerprintInput() else (0, 1))


def audited(randomizer: Any, **schedule: Any) -> HistoryAudit:
    """Over all histories of two inputs in two epochs."""
    return history_audit(randomizer, histories_of(*told_apart(randomizer)), Schedule(**schedule))


def throughout(one: Any, other: Any) -> list[History]:
    """Two histories that differ in every epoch: where no coin is shared, no two histories differ more."""
    return [((one,), (one,)), ((other,), (other,))]


def smallest(name: str) -> Any:
    """The randomizer at the least size, to be asked often."""
    return REGISTRY[name].made(EPSILON, 2)


def opposite(name: str) -> tuple[Any, Any]:
    """Two inputs that are told apart as well as any."""
    randomizer = smallest(name)
    if randomizer.takes == FingerprintInput():
        return told_apart(randomizer)
    inputs = REGISTRY[name].tried(randomizer, 2) or (0, randomizer.inputs - 1)
    return inputs[0], inputs[1]  # of vectors, both ends of an axis


@pytest.mark.parametrize("name", NAMES)
def test_a_change_of_records_costs_at_most_what_was_booked_for_every_randomizer(name: str) -> None:
    # At larger sizes the same is done by `localdp audit --all`, in tests/unit/parties/command/test_choose_and_audit.py.
    randomizer = smallest(name)
    found = change_audit(randomizer, opposite(name))
    assert found is not None and found.rounded is not None
    memoised = randomizer.memoised
    each = randomizer.epsilon_permanent if memoised else randomizer.epsilon
    assert found.booked == each * 2
    assert found.booked.nanonats - 2 <= found.rounded.nanonats <= found.booked.nanonats
    assert not found.epochs_share_coins and not found.violated
    assert found.any_number == memoised


@pytest.mark.parametrize(("identifiers", "by_content"), [(SAME, False), (OTHERS, True)])
@pytest.mark.parametrize("name", NAMES)
def test_identifiers_and_answers_by_content_change_nothing(
    name: str, identifiers: tuple[tuple[int, ...], ...], by_content: bool
) -> None:
    # Not by content, the old identifier of an ordinary request has expired: nothing is told, and nothing is booked.
    randomizer = smallest(name)
    found = history_audit(
        randomizer, throughout(*opposite(name)), Schedule(identifiers, by_content=by_content)
    )
    memoised = randomizer.memoised
    each = randomizer.epsilon_permanent if memoised else randomizer.epsilon
    answered = 2 if by_content or memoised else 1
    assert found.booked == each * answered
    assert not found.violated
    assert abs(found.measured - answered * float(randomizer.epsilon)) < 1e-7


@pytest.mark.parametrize("name", NAMES)
def test_a_row_that_is_drawn_of_several_costs_no_more(name: str) -> None:
    randomizer, (one, other) = smallest(name), opposite(name)
    histories: list[History] = [((one, one), (one, one)), ((other, other), (other, other))]
    found = history_audit(randomizer, histories, Schedule(owners=(0, 0)))
    assert not found.violated
    assert abs(found.measured - 2 * float(randomizer.epsilon)) < 1e-7


@pytest.mark.nightly
@pytest.mark.parametrize("name", NAMES)
def test_all_histories_of_several_inputs_cost_at_most_what_was_booked(name: str) -> None:
    randomizer = small(name)
    open_domain = randomizer.takes == FingerprintInput()
    inputs = range(4) if open_domain else REGISTRY[name].tried(randomizer, 2) or ends(randomizer)
    histories: list[History] = [((one,), (other,)) for one, other in product(inputs, repeat=2)]
    for identifiers in (SAME, OTHERS):
        found = history_audit(randomizer, histories, Schedule(identifiers, by_content=True))
        assert not found.violated
        assert abs(found.measured - 2 * float(randomizer.epsilon)) < 1e-7


@pytest.mark.parametrize("by_content", [False, True])
def test_somebody_else_who_is_asked_too_changes_nothing(by_content: bool) -> None:
    def with_another(history: History) -> History:
        return tuple((held, 1) for (held,) in history)

    histories = [with_another(history) for history in histories_of(0, 2)]
    found = history_audit(TERNARY, histories, Schedule(by_content=by_content))
    assert found.rounded == found.booked == EPSILON * 2 and not found.violated


def asked_often(count: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    return tuple(range(count)), tuple(range(10, 10 + count))


@pytest.mark.parametrize("kind", MEMOS)
def test_more_requests_of_a_memoised_randomizer_tell_more_and_never_more_than_was_booked(kind: str) -> None:
    memo, most = MEMOS[kind], 3 if kind != "optimized" else 2
    found = [audited(memo, identifiers=asked_often(count)) for count in range(1, most + 1)]
    assert all(one.booked == memo.epsilon_permanent * 2 and not one.violated for one in found)
    losses = [one.measured for one in found]
    assert (
        abs(losses[0] - 2 * float(memo.epsilon)) < 1e-8
    )  # one report in each epoch costs what reports cost
    assert losses == sorted(losses) and losses[-1] > losses[0] + 0.1
    limit = change_audit(memo)  # of any number of requests
    assert limit is not None and losses[-1] < limit.measured


@pytest.mark.parametrize("kind", MEMOS)
def test_by_content_any_number_of_requests_is_one(kind: str) -> None:
    found = audited(MEMOS[kind], identifiers=asked_often(2), by_content=True)
    assert abs(found.measured - 2 * float(MEMOS[kind].epsilon)) < 1e-8 and not found.violated


def second_rounds(memo: Any, identifiers: Any, party: Any = Party) -> tuple[list[frozenset[Coin]], int]:
    """The coins of each report beyond those of its permanent answer, and how many of these are not the report's."""
    history, schedule = histories_of(*told_apart(memo))[0], Schedule(identifiers, party=party)
    touched, permanent = (
        [joint_law([draw])[1] for draw in answers_of(one, history, schedule).drawn]
        for one in (memo, permanent_of(memo))
    )
    missing = sum(len(kept - coins) for coins, kept in zip(touched, permanent, strict=True))
    return [coins - kept for coins, kept in zip(touched, permanent, strict=True)], missing


@pytest.mark.parametrize("kind", FAMILIES)
def test_the_second_round_of_every_request_has_coins_of_its_own(kind: str) -> None:
    # So any number of reports is made of the permanent answers, and of nothing else that has to do with records.
    for identifiers in (asked_often(3), (*asked_often(2)[:1], *asked_often(2)[:1])):
        rounds, missing = second_rounds(MEMOS[kind], identifiers)
        assert not missing and {len(coins) for coins in rounds} == {
            2
        }  # two bits; whether it moves, and where
        assert len(frozenset().union(*rounds)) == sum(map(len, rounds))
    shared, _ = second_rounds(MEMOS[kind], SAME, OldSecondRound)
    assert shared[0] == shared[1]


@pytest.mark.parametrize("randomizer", [TERNARY, *map(permanent_of, MEMOS.values())])
def test_three_epochs_cost_three_times(randomizer: Any) -> None:
    histories = histories_of(*told_apart(randomizer), epochs=3)
    found = history_audit(randomizer, histories, Schedule(((1,), (2,), (3,))))
    each = randomizer.epsilon if randomizer is TERNARY else randomizer.epsilon_permanent
    assert found.booked == each * 3 and not found.violated
    assert abs(found.measured - 3 * float(each)) < 1e-8


def whole_law(randomizer: Any, history: History, schedule: Schedule) -> tuple[dict[Any, Fraction], Any]:
    return joint_law(answers_of(randomizer, history, schedule).drawn)


@pytest.mark.parametrize(
    ("randomizer", "party"),
    [
        (TERNARY, Party),
        (OneBitRandomizer(EPSILON, 2), Party),
        (UNARY, Party),
        (UNARY, PermanentForGood),
        (MEMOS["hashing"], Party),
    ],
    ids=["k-ary", "one-bit", "unary", "unary for good", "hashing"],
)
def test_groups_that_share_no_coin_give_the_loss_of_everything_together(
    randomizer: Any, party: Any
) -> None:
    schedule, histories = Schedule(OTHERS, party=party), histories_of(*told_apart(randomizer))
    laws = [whole_law(randomizer, history, schedule)[0] for history in histories]
    assert all(sum(law.values()) == 1 for law in laws)
    worst = max(mass / law[answers] for one in laws for answers, mass in one.items() for law in laws)
    assert history_audit(randomizer, histories, schedule).rounded == Epsilon.of_ratio(worst)


# Each of these is broken in one way, and each is noticed.


@pytest.mark.parametrize("kind", FAMILIES)
def test_permanent_answers_that_outlive_an_epoch_are_noticed(kind: str) -> None:
    found = audited(MEMOS[kind], identifiers=OTHERS, party=PermanentForGood)
    assert found.measured > 1.4 and found.booked == MEMOS[kind].epsilon_permanent * 2 and found.violated
    shown = history_audit(
        permanent_of(MEMOS[kind]), histories_of(*told_apart(MEMOS[kind])), Schedule(party=PermanentForGood)
    )
    assert shown.measured == inf and shown.rounded is None and shown.violated


@pytest.mark.parametrize("kind", FAMILIES)
@pytest.mark.parametrize("party", [MemoNamedOnce, MemoChargedOnce])
def test_a_second_epoch_that_is_not_charged_is_noticed(kind: str, party: Any) -> None:
    memo = MEMOS[kind]
    found = audited(memo, identifiers=OTHERS, party=party, ledger=WithoutEpochs)
    assert found.booked == memo.epsilon_permanent and found.measured > 0.79 and found.violated
    shown = audited(permanent_of(memo), identifiers=OTHERS, party=party, ledger=WithoutEpochs)
    assert shown.measured > 0.999 and shown.violated


@pytest.mark.parametrize("randomizer", [TERNARY, OneBitRandomizer(EPSILON)], ids=["k-ary", "one-bit"])
def test_reports_of_a_second_epoch_with_the_coins_of_the_first_are_noticed(randomizer: Any) -> None:
    found = audited(randomizer, identifiers=SAME, party=OldReportCoins, ledger=WithoutEpochs)
    assert found.measured == inf and found.booked == EPSILON and found.violated


@pytest.mark.parametrize("kind", FAMILIES)
def test_second_rounds_that_share_coins_are_noticed_though_they_lose_no_more(kind: str) -> None:
    # Given the permanent answers, second rounds say nothing of records, whatever their coins: only independence is lost.
    found = audited(MEMOS[kind], identifiers=SAME, party=OldSecondRound)
    assert found.epochs_share_coins and found.violated
    assert found.measured <= float(found.booked)
    assert not audited(MEMOS[kind], identifiers=SAME).violated


ROWS = [(0, 0), (0, 1), (1, 1)]  # which of two rows is which does not matter
TWO_ROWS: list[History] = list(product(ROWS, repeat=2))


def test_any_rows_of_a_person_may_change_at_the_price_of_one() -> None:
    found = history_audit(TERNARY, TWO_ROWS, Schedule(owners=(0, 0)))
    assert found.rounded == found.booked == EPSILON * 2 and not found.violated


def test_rows_that_are_the_same_in_every_epoch_are_noticed_though_they_lose_no_more() -> None:
    # A row is drawn without regard to records: the law is a mixture of laws that lose what was booked.
    found = history_audit(TERNARY, TWO_ROWS, Schedule(owners=(0, 0), party=OldRows))
    assert found.epochs_share_coins and found.violated
    assert found.measured <= float(found.booked)


class RememberedCharge(Party):
    """Broken: asks for more where a record is not zero."""

    def _charge(self, bill: Any, cohort: Any) -> bytes:
        name, more = bill.name, int(self.records.column("value")[0])
        for extra in range(more):
            super()._charge(type(bill)(bytes([extra]) + name, *_rest(bill)), cohort)
        return super()._charge(bill, cohort)


def _rest(bill: Any) -> tuple[Any, ...]:
    return bill.epoch, bill.cost, bill.purpose, bill.caller, bill.question, bill.columns


def test_a_charge_that_depends_on_records_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="booked depends on records"):
        audited(TERNARY, party=RememberedCharge)


def test_answers_from_other_sources_than_the_table_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("localdp.auditing.coin_table._DRAWING", ())
    with pytest.raises(InvalidParameter, match="without coins of the table"):
        history_audit(TERNARY, histories_of(0, 1))


def test_too_many_coins_are_not_followed() -> None:
    assert change_audit(REGISTRY["optimized-unary"].made(EPSILON, 100)) is None
    assert change_audit(REGISTRY["k-ary"].made(EPSILON, 100_000)) is None


# Any number of requests, by counting: given permanent bits, the reports of an epoch matter by how many ones they have.


def loss_of(memo: MemoisedUnary, count: int, *, for_good: bool) -> float:
    """The exact loss over two epochs of so many requests each, between any two histories of two values."""
    laws = [
        [bit_law(memo, [value == bit for value in path], count, for_good) for bit in (0, 1)]
        for path in product((0, 1), repeat=2)
    ]
    return max(
        sum(
            max(log(here[ones] / there[ones]) for ones in here)
            for here, there in zip(one, other, strict=True)
        )
        for one, other in product(laws, repeat=2)
    )


def bit_law(
    memo: MemoisedUnary, own: list[bool], count: int, for_good: bool
) -> dict[tuple[int, int], Fraction]:
    """For each number of ones in both epochs, the probability of one such sequence of reports of one bit."""
    support, flip = memo.permanent.support, Fraction(memo.flip, WORD_RANGE)
    ones = [support.own if one else support.other for one in own]
    chance = [(1 - one, one) for one in ones]
    law = {}
    for first, second in product(range(count + 1), repeat=2):
        seen = [
            [(1 - flip) ** (count - k) * flip**k, flip ** (count - k) * (1 - flip) ** k]
            for k in (first, second)
        ]
        if for_good and own[0] == own[1]:  # one permanent bit for both
            mass = sum((chance[0][a] * seen[0][a] * seen[1][a] for a in (0, 1)), Fraction(0))
        else:
            mass = Fraction(1)
            for epoch in (0, 1):
                mass *= sum((chance[epoch][a] * seen[epoch][a] for a in (0, 1)), Fraction(0))
        law[first, second] = mass
    return law


@pytest.mark.parametrize(
    ("count", "for_good"),
    [
        (1, False),
        (2, False),
        (1, True),
        pytest.param(3, False, marks=pytest.mark.nightly),
        pytest.param(2, True, marks=pytest.mark.nightly),
    ],
)
def test_counting_agrees_with_enumerating(count: int, for_good: bool) -> None:
    party = PermanentForGood if for_good else Party
    found = audited(UNARY, identifiers=asked_often(count), party=party)
    assert abs(found.measured - loss_of(UNARY, count, for_good=for_good)) < 1e-9


def test_however_many_requests_there_are_the_loss_stays_below_what_is_booked() -> None:
    losses = [loss_of(UNARY, count, for_good=False) for count in (1, 2, 4, 8)]
    assert losses == sorted(losses) and 0.99999 < losses[-1] <= 1.0
    kept = [round(loss_of(UNARY, count, for_good=True), 2) for count in (1, 4)]
    assert kept == [2.44, 15.34]  # of two reports in all, and of eight
