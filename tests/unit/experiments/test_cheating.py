"""What cheating parties can do under each trust model: no more than the claims say, and as much as they can.

Everything is compared with an honest run of the same coins, so that no noise is in the way.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.ledger import MemoryLedger
from localdp.domains import Records
from localdp.domains.dealing import dealt
from localdp.errors import InvalidParameter, TooFewReports
from localdp.experiments.cheating import (
    OUT_OF_RANGE,
    CheatingParty,
    all_alike,
    cheating_in_words,
    loud_record,
    loudest_report,
)
from localdp.experiments.faults import Faulty, FaultyLROracle, FaultyShareServers
from localdp.experiments.population import made_up_people
from localdp.oracles.definition import VectorAnswer
from localdp.oracles.local import LocalOracle
from localdp.oracles.shared import SharedOracle
from localdp.oracles.shuffled import ShuffledOracle
from localdp.oracles.shuffler import Shuffler
from localdp.party.party import Party
from localdp.party.policy import Policy
from localdp.queries.asked import checked_plan
from localdp.queries.statistical import StatisticalQuery
from localdp.randomizers.coordinate_sampling import CoordinateSampling
from localdp.randomizers.hadamard import HadamardResponse
from localdp.randomizers.k_ary import KaryRandomizedResponse
from localdp.randomizers.marginals import HadamardMarginals
from localdp.randomizers.one_bit import OneBitRandomizer
from localdp.randomizers.priv_unit import PrivUnit
from localdp.randomizers.subset_selection import SubsetSelection
from localdp.randomizers.unary import OptimizedUnaryEncoding
from localdp.randomness.hazmat import SeededSource
from localdp.randomness.keyring import Keyring
from localdp.sharing.share_server import ShareServer
from localdp.sharing.vault import MemoryVault

KEYS = Keyring.insecurely_seeded(1)
ONE = Epsilon.requested(1)
PEOPLE = made_up_people(120, SeededSource(1))
CHEATING = Faulty(cheating=frozenset({1, 4}))  # of six parties of 20 people
QUERIES = [
    "smoker",
    "not smoker",
    "clip(age / 120)",
    "cells(region)",
    "vector(smoker, clip(age / 120))",
    "ball(0.6 * smoker, 0.6 * (age / 120))",
    "parities(2, smoker, age >= 65)",
]


def parties(query: str, cheat: str | None) -> list[Party]:
    lie = loud_record(PEOPLE, checked_plan([query], PEOPLE.schema)[0])
    made = []
    for number, part in enumerate(dealt(PEOPLE, 6)):
        lying = cheat is not None and number in CHEATING.cheating
        kind = CheatingParty if lying and cheat == "reports" else Party
        records = all_alike(lie, part.people) if lying else part
        ledger = MemoryLedger(part.people, Epsilon.requested(30))
        policy = Policy(largest_epsilon=Epsilon.requested(30))
        made.append(kind(f"party-{number}", records, KEYS.party(number), ledger, policy))
    return made


def answered(oracle: Any, query: str) -> Any:
    asked = checked_plan([query], PEOPLE.schema)[0]
    if isinstance(asked, StatisticalQuery):
        return oracle.answer([asked])[0]
    return oracle.answer_vectors([asked])[0]


def value(answer: Any) -> float:
    return float(answer.values.sum() if isinstance(answer, VectorAnswer) else answer.value)


def local(query: str, cheat: str | None, epsilon: Epsilon = ONE) -> Any:
    return answered(
        LocalOracle(FaultyLROracle(parties(query, cheat), CHEATING), epsilon, SeededSource(5)), query
    )


def shared(
    query: str, cheat: str | None, tier: Any, some: list[Party] | None = None
) -> tuple[Any, FaultyShareServers]:
    servers = [ShareServer(f"server-{one}", MemoryVault(KEYS.server(one))) for one in range(2)]
    behind = FaultyShareServers(some or parties(query, cheat), servers, CHEATING)
    oracle = SharedOracle(behind, Epsilon.requested(20), SeededSource(5), tier=tier)
    return answered(oracle, query), behind


@pytest.mark.parametrize("epsilon", ["0.1", "1", "4"])
def test_chosen_reports_move_a_local_mean_by_their_width_and_no_further(epsilon: str) -> None:
    spent = Epsilon.requested(epsilon)
    width = (math.exp(float(spent)) + 1) / math.expm1(float(spent))
    moved = local("smoker", "reports", spent).value - local("smoker", None, spent).value
    assert 0 < moved <= 40 / 120 * width
    changed = moved * 120 / width  # honest reports that were zeros
    assert changed == pytest.approx(round(changed), abs=1e-5)
    assert 5 <= round(changed) <= 40


def test_a_lie_about_inputs_moves_a_mean_less_than_a_chosen_report() -> None:
    honest, inputs, reports = (local("smoker", cheat).value for cheat in (None, "inputs", "reports"))
    assert honest < inputs < reports


@pytest.mark.parametrize("query", QUERIES)
def test_every_kind_of_query_is_pushed_up_by_chosen_reports(query: str) -> None:
    honest, lied = local(query, None), local(query, "reports")
    assert lied.reports == 120
    if query.startswith("cells"):  # the last value gains what the others lose
        assert lied.values[-1] > honest.values[-1] + 0.2
    else:
        assert value(lied) > value(honest) + 0.1


@pytest.mark.parametrize("query", QUERIES)
def test_a_false_record_has_the_largest_answer(query: str) -> None:
    asked = checked_plan([query], PEOPLE.schema)[0]
    lie = loud_record(PEOPLE, asked)
    assert lie.people == 1
    own, everybody = asked.evaluate(lie), asked.evaluate(PEOPLE)
    if asked.kind == "parities":
        assert int(own[0]) == 0  # no bit is set, so every parity is positive
    else:
        assert own.sum() >= np.asarray(everybody).reshape(120, -1).sum(axis=1).max() - 1e-12


def test_without_a_query_every_column_is_at_its_largest() -> None:
    lie = loud_record(PEOPLE)
    for name in PEOPLE.schema.names:
        assert lie.column(name)[0] >= PEOPLE.column(name).max()


RANDOMIZERS: list[tuple[Any, Any]] = [
    (OneBitRandomizer(ONE, 1), np.array([True])),
    (OneBitRandomizer(Epsilon.requested("0.01"), 1), np.array([True])),
    (OneBitRandomizer(ONE, 16), np.array([16])),
    (KaryRandomizedResponse(ONE, 5), np.array([4])),
    (SubsetSelection(ONE, 6), np.array([5])),
    (HadamardResponse(ONE, 6), np.array([5])),
    (OptimizedUnaryEncoding(ONE, 6), np.array([5])),
    (HadamardMarginals(ONE, 3, 2), np.array([0])),
    (CoordinateSampling(ONE, 3), None),
    (PrivUnit(ONE, 3), None),
]


@pytest.mark.parametrize(
    ("randomizer", "wanted"), RANDOMIZERS, ids=lambda one: getattr(one, "canonical", "")
)
def test_the_loudest_report_is_one_of_the_alphabet_and_no_draw_is_louder(
    randomizer: Any, wanted: Any
) -> None:
    if wanted is None:
        top = randomizer.resolution // (2 if isinstance(randomizer, PrivUnit) else 1)
        wanted = np.full((1, 3), top, np.int64)
    report = loudest_report(randomizer, wanted)
    assert np.array_equal(randomizer.unpack(randomizer.pack(report), 1), report)
    drawn = randomizer.randomize(np.repeat(wanted, 400, axis=0), SeededSource(9))
    loudest = max(_estimated(randomizer, drawn[one : one + 1], wanted[0]) for one in range(400))
    found = _estimated(randomizer, report, wanted[0])
    # Of vectors there are too many reports to meet the best one in 64 draws.
    assert found >= loudest * (0.8 if isinstance(randomizer, PrivUnit) else 1 - 1e-12) > 0


def _estimated(randomizer: Any, report: Any, wanted: Any) -> float:
    estimate = randomizer.estimate(randomizer.tally(report))
    if isinstance(randomizer, OneBitRandomizer):
        return float(estimate.value)
    if isinstance(randomizer, HadamardMarginals):
        return float(estimate.parities.sum())
    return float(estimate.values @ wanted if np.ndim(wanted) else estimate.values[wanted])


def test_reports_that_are_not_summed_up_are_not_cheated_with() -> None:
    with pytest.raises(InvalidParameter):
        loudest_report(object(), np.array([1]))


def test_without_proofs_a_value_out_of_range_spoils_the_sum_and_nobody_notices() -> None:
    honest, _ = shared("smoker", None, "additive")
    lied, behind = shared("smoker", "reports", "additive")
    assert (lied.reports, behind.rejections.rejected) == (120, 0)
    others = sum(int(part.column("smoker").sum()) for part in honest_parts())
    # The noise of two servers at epsilon 20 is zero but for a chance of 1e-8.
    assert lied.count == pytest.approx(others + 40 * OUT_OF_RANGE)
    assert honest.count == pytest.approx(int(PEOPLE.column("smoker").sum()))


def honest_parts() -> list[Records]:
    return [part for number, part in enumerate(dealt(PEOPLE, 6)) if number not in CHEATING.cheating]


@pytest.mark.parametrize("query", QUERIES)
def test_with_proofs_such_reports_are_rejected_and_the_answer_is_that_of_the_rest(query: str) -> None:
    lied, behind = shared(query, "reports", "prio3")
    assert (lied.reports, behind.rejections.rejected) == (80, 40)
    if query == "smoker":
        rest = sum(int(part.column("smoker").sum()) for part in honest_parts())
        assert lied.value * 80 == pytest.approx(rest)


@pytest.mark.parametrize("tier", ["additive", "prio3"])
def test_a_false_answer_within_its_range_counts_like_any_other(tier: str) -> None:
    lied, behind = shared("smoker", "inputs", tier)
    assert (lied.reports, behind.rejections.rejected) == (120, 0)
    assert lied.count == pytest.approx(
        sum(int(part.column("smoker").sum()) for part in honest_parts()) + 40
    )


def test_a_twin_that_only_lies_about_inputs_would_not_be_rejected() -> None:
    """The count of rejected reports sees what was sent, and not who was declared a cheater."""
    honest, behind = shared("smoker", None, "prio3")
    assert (honest.reports, behind.rejections.rejected) == (120, 0)


def test_cheaters_are_charged_like_everybody() -> None:
    some = parties("smoker", "reports")
    LocalOracle(FaultyLROracle(some, CHEATING), ONE, SeededSource(5)).answer(["smoker"])
    shared("smoker", "reports", "additive", some)
    cost = OneBitRandomizer(ONE, 1).epsilon + Epsilon.requested(20)
    assert {int(spent) for party in some for spent in party.ledger.spent()} == {cost.nanonats}


def test_behind_a_shuffler_only_honest_reports_are_counted_on() -> None:
    def spent(people: Records, honest: int | None) -> int:
        party = Party("p", people, KEYS.party(0), MemoryLedger(people.people, Epsilon.requested(30)))
        mixer = Shuffler(FaultyLROracle([party], Faulty()), SeededSource(3))
        oracle = ShuffledOracle(mixer, ONE, SeededSource(4), honest=honest)
        oracle.answer(["smoker"])
        assert ("80 of the 120 people" in oracle.claim.statement()) is (honest == 80)
        return int(party.ledger.spent()[0])

    assert spent(PEOPLE, 80) == spent(PEOPLE.slice(0, 80), None) < spent(PEOPLE, None)


def test_a_view_of_rounds_behind_a_shuffler_counts_on_honest_reports_as_well() -> None:
    many = made_up_people(4000, SeededSource(2))

    def planned(people: Records, honest: int | None) -> str:
        party = Party("p", people, KEYS.party(0), MemoryLedger(people.people, Epsilon.requested(30)))
        mixer = Shuffler(FaultyLROracle([party], Faulty()), SeededSource(3))
        oracle = ShuffledOracle(mixer, ONE, SeededSource(4), honest=honest)
        return oracle.in_rounds(2).plan(["smoker"]).rows[0].how

    assert planned(many, 3000) == planned(many.slice(0, 3000), None) != planned(many, None)


@pytest.mark.parametrize("honest", [0, 1, 121])
def test_a_shuffled_oracle_needs_honest_people_and_not_more_than_there_are(honest: int) -> None:
    mixer = Shuffler(FaultyLROracle(parties("smoker", None), Faulty()), SeededSource(3))
    with pytest.raises(TooFewReports):
        ShuffledOracle(mixer, ONE, SeededSource(4), honest=honest)


@pytest.mark.parametrize("model", ["exact", "curator", "local", "shuffled", "shared"])
def test_what_cheaters_can_do_is_told_of_every_model(model: str) -> None:
    assert "cheater" in cheating_in_words(model, "additive").lower()
    assert cheating_in_words("shared", "prio3") != cheating_in_words("shared", "additive")
