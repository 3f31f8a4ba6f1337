"""The decision game: did a record change from one epoch to the next?  Memoised answers tell no more than was booked.

Everybody has a budget of 1 nat, and a permanent answer costs 0.5: two epochs spend it all, whatever the number of requests.
Half of the people change their value with the second epoch.  An analyst who knows both values decides for each person
whether it changed.  Of distinguishers at epsilon the best one is right with probability e^epsilon / (1 + e^epsilon): 0.731.

Two statistics of each person: how far the answers of the epochs lie apart, and how much those of the second epoch speak for
the new value (where epochs are independent, its likelihood ratio decides as well as anything can).  For each the better
cut is found on one half of the people, and counted once on the other.

n = 8,000 decisions where there is one request an epoch, 2,000 where there are fifty; alpha = 1e-6 for each statistic:
Hoeffding's margin is 0.030 and 0.060.  Power: a distinguisher that is right with a probability that exceeds the bound by
twice the margin is missed with probability 1e-6.  What it would miss: less than the margin above the bound.  The
enumeration of tests/unit/auditing/test_histories.py misses nothing, at two values.

The broken twin keeps permanent answers for good: it is right 0.92 and 1.00 of the time (unary), 0.78 and 0.99 (hashing).
"""

from __future__ import annotations

from functools import partial
from math import e, log, sqrt
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.ledger import MemoryLedger
from localdp.auditing.coin_table import joint_law
from localdp.auditing.histories import History, Schedule, answers_of, histories_of
from localdp.auditing.inputs_as_records import asked_of
from localdp.cohorts import Cohort
from localdp.domains import CategoryDomain, Records, Schema
from localdp.party.party import Party, Request
from localdp.party.policy import Policy
from localdp.randomizers.memoised import memoised_symmetric_unary
from localdp.randomizers.memoised_hashing import MemoisedHashing
from localdp.randomizers.parts.universal_hash import bucket_of, fingerprints
from tests.support.broken_epochs import PermanentForGood

PEOPLE, ALPHA = {1: 16_000, 50: 4_000}, 1e-6  # by the number of requests an epoch
MARGIN = {
    count: sqrt(log(2 / ALPHA) / people) for count, people in PEOPLE.items()
}  # half of them decided on
ALLOWED = e / (1 + e)
LABELS = tuple(str(value) for value in range(16))
SCHEMA = Schema({"value": CategoryDomain(LABELS)})
WORDS = fingerprints(LABELS)
ONE, HALF, REPORT = (Epsilon.requested(nats) for nats in ("1", "0.5", "0.4"))
UNARY = memoised_symmetric_unary(HALF, REPORT, len(LABELS))
HASHING = MemoisedHashing(REPORT, HALF, 128)

Numbers = NDArray[np.float64]
Flags = NDArray[np.bool_]


def sums(party: Party, randomizer: Any, first: int, count: int) -> tuple[Numbers, NDArray[np.uint64]]:
    """How often each person named each position, over so many requests; and the seeds, if there are any."""
    positions = len(LABELS) if randomizer is UNARY else randomizer.number
    people = party.people
    named, seeds = np.zeros((people, positions)), np.zeros(people, np.uint64)
    for number in range(first, first + count):
        reports = party.randomize(
            Request(number.to_bytes(16, "big"), "value", randomizer), Cohort(0, people)
        )
        if randomizer is UNARY:
            named += np.unpackbits(reports, axis=1)[:, :positions]
            continue
        seeds = reports["seed"]
        named[np.arange(people), reports["bucket"].astype(np.int64)] += 1
    return named / count, seeds


def statistics(kind: type[Party], randomizer: Any, count: int) -> tuple[dict[str, Numbers], Flags]:
    """Both statistics of everybody after two epochs, and who changed."""
    drawn, people = np.random.default_rng(12), PEOPLE[count]
    values, changed = drawn.integers(0, len(LABELS), people), drawn.random(people) < 0.5
    others = (values + drawn.integers(1, len(LABELS), people)) % len(LABELS)
    tables = [
        Records.from_columns(SCHEMA, {"value": held})
        for held in (values, np.where(changed, others, values))
    ]
    ledger = MemoryLedger(people, ONE)
    party = kind("party-0", tables[0], bytes(range(32)), ledger, Policy(largest_epsilon=ONE))
    first, _ = sums(party, randomizer, 0, count)
    party.enter(party.epoch.next(tables[1]))
    second, seeds = sums(party, randomizer, count, count)
    assert (ledger.spent() == ONE.nanonats).all()  # and no request more was paid for
    old, new = (speaks_for(randomizer, second, seeds, held) for held in (values, others))
    return {"apart": np.abs(first - second).sum(axis=1), "likely": new - old}, changed


def speaks_for(randomizer: Any, named: Numbers, seeds: NDArray[np.uint64], held: NDArray[Any]) -> Numbers:
    """How often the reports support these values."""
    own = held if randomizer is UNARY else bucket_of(seeds, WORDS[held], randomizer.number)
    return named[np.arange(len(named)), own.astype(np.int64)]


def right(statistic: Numbers, changed: Flags) -> float:
    """How often the cut that is best on the first half decides rightly on the second."""
    known, asked = slice(0, len(changed) // 2), slice(len(changed) // 2, None)
    cuts = np.unique(statistic[known])
    cuts = cuts if len(cuts) < 200 else np.quantile(cuts, np.linspace(0, 1, 200))
    agreeing = [np.mean((statistic[known] >= cut) == changed[known]) for cut in cuts]
    best = int(np.argmax(agreeing))
    return float(np.mean((statistic[asked] >= cuts[best]) == changed[asked]))


def decided(kind: type[Party], randomizer: Any, count: int) -> dict[str, float]:
    """How often each statistic decides rightly."""
    found, changed = statistics(kind, randomizer, count)
    return {name: right(statistic, changed) for name, statistic in found.items()}


sound, for_good = partial(decided, Party), partial(decided, PermanentForGood)


@pytest.mark.parametrize("count", [1, 50])
@pytest.mark.parametrize("randomizer", [UNARY, HASHING], ids=["unary", "hashing"])
def test_nobody_decides_whether_a_record_changed_better_than_the_booked_epsilon_allows(
    randomizer: Any, count: int
) -> None:
    found = sound(randomizer, count)
    assert max(found.values()) <= ALLOWED + MARGIN[count]
    # Permanent answers of an epoch are its own: they lie apart alike, whoever changed.
    assert abs(found["apart"] - 0.5) <= MARGIN[count]
    if randomizer is UNARY and count == 1:  # the statistic is a real one: reports do speak for values
        assert found["likely"] > 0.5 + MARGIN[count]


@pytest.mark.parametrize(
    ("randomizer", "count", "least"),
    [(UNARY, 1, 0.9), (UNARY, 50, 0.99), (HASHING, 1, 0.77), (HASHING, 50, 0.97)],
    ids=["unary-1", "unary-50", "hashing-1", "hashing-50"],
)
def test_answers_that_are_kept_for_good_tell_who_changed(randomizer: Any, count: int, least: float) -> None:
    assert for_good(randomizer, count)["apart"] > least > ALLOWED + MARGIN[count]


# The instrument of the exact audit, against real keystreams: everybody of a party is one draw of the joint law.

TINY = memoised_symmetric_unary(HALF, REPORT, 2)
SAMPLES = 40_000


def drawn_together(kind: type[Party], history: History) -> dict[tuple[bytes, ...], float]:
    """How often each pair of reports of two epochs comes up, from real coins."""
    asked = asked_of(TINY)
    first, second = (asked.records(TINY, rows * SAMPLES) for rows in history)
    party = kind("party-0", first, bytes(range(32)), MemoryLedger(SAMPLES, ONE), Policy())
    requests = [Request(bytes([number]) * 16, asked.query, TINY) for number in (1, 2)]
    reports = [party.randomize(requests[0], Cohort(0, SAMPLES))]
    party.enter(party.epoch.next(second))
    reports.append(party.randomize(requests[1], Cohort(0, SAMPLES)))
    pairs, counts = np.unique(np.concatenate(reports, axis=1), axis=0, return_counts=True)
    return {
        tuple(bytes([part]) for part in pair): count / SAMPLES
        for pair, count in zip(pairs.tolist(), counts.tolist(), strict=True)
    }


def farthest(kind: type[Party], enumerated: type[Party], history: History) -> float:
    """The largest difference of a frequency from its enumerated probability."""
    law, _ = joint_law(answers_of(TINY, history, Schedule(party=enumerated)).drawn)
    seen = drawn_together(kind, history)
    return max(abs(float(law.get(pair, 0)) - seen.get(pair, 0.0)) for pair in law.keys() | seen.keys())


@pytest.mark.parametrize("kind", [Party, PermanentForGood])
@pytest.mark.parametrize("history", histories_of(0, 1))
def test_the_enumerated_joint_law_is_the_law_of_what_parties_draw(
    kind: type[Party], history: History
) -> None:
    # 16 pairs, alpha = 1e-6: Hoeffding's margin is 0.0147.
    assert farthest(kind, kind, history) < sqrt(log(2 * 16 / ALPHA) / (2 * SAMPLES))


def test_another_joint_law_is_noticed() -> None:
    unchanged = histories_of(0, 1)[0]
    assert farthest(PermanentForGood, Party, unchanged) > 0.05
    assert farthest(Party, PermanentForGood, unchanged) > 0.05
