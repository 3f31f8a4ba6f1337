"""Averaging, shown: what repeating a question to a party brings, with and without what stops it.

Checked in tests/unit/experiments/test_attack_runs.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.ledger import MemoryLedger
from localdp.attacks.averaging import Averaged, averaged
from localdp.attacks.subset_sums import guess_bound, random_bits, recovered
from localdp.cohorts import Cohort
from localdp.domains import BitDomain, Records, Schema
from localdp.experiments.attack_trials import Range
from localdp.experiments.panels import Demonstration, Panel, Point
from localdp.party.party import Party, Request
from localdp.party.policy import Policy
from localdp.randomizers.one_bit import binary_randomized_response
from localdp.randomness.source import RandomSource, uniform_bytes

PEOPLE = 1000
REPETITIONS = (1, 4, 16, 64, 256)
BUDGET = 4  # nats, at one nat a report
QUERY = "secret"
SAME, FRESH, CONTENT, UNLIMITED = (
    "the same request",
    f"new requests, budget {BUDGET}",
    "new requests, answered by content",
    "new requests, no budget (broken)",
)
_NO_LIMIT = Epsilon(10**15)


def same(times: int, source: RandomSource) -> Iterator[Request]:
    """One request, again and again."""
    request = Request.fresh(QUERY, binary_randomized_response(1), source)
    yield from (request for _ in range(times))


def fresh(times: int, source: RandomSource) -> Iterator[Request]:
    """The same question under new identifiers."""
    for _ in range(times):
        yield Request.fresh(QUERY, binary_randomized_response(1), source)


def outcome(series: str, times: int, source: RandomSource) -> tuple[float, Averaged]:
    """The fraction of all people's bits that is guessed, and how often the party answered."""
    bits = random_bits(PEOPLE, source)
    records = Records.from_columns(Schema({"secret": BitDomain()}), {"secret": bits})
    limit = _NO_LIMIT if series == UNLIMITED else Epsilon.requested(BUDGET)
    secret = uniform_bytes(source, 32)
    party = Party(
        "party", records, secret, MemoryLedger(PEOPLE, limit), Policy(by_content=series == CONTENT)
    )
    asked = same(times, source) if series == SAME else fresh(times, source)
    result = averaged(party, asked, Cohort(0, PEOPLE))
    return recovered(result.guess, bits), result


def averaging(tried: Range) -> Demonstration:
    """All series."""
    points = [
        tried.point(series, times, _trial(series, times))
        for series in (SAME, FRESH, CONTENT, UNLIMITED)
        for times in REPETITIONS
    ]
    points += [Point(f"at most, for {BUDGET} nats", times, guess_bound(BUDGET), 1) for times in REPETITIONS]
    title = f"One bit of each of {PEOPLE:,} people, epsilon = 1 a report"
    panel = Panel(title, "times asked", "fraction of the bits guessed", tuple(points))
    _, spent = outcome(FRESH, max(REPETITIONS), tried.keyring.source("attack", "averaging", "spent"))
    notes = (
        f"of {max(REPETITIONS)} new requests {spent.answered} were answered; then the budget was exhausted",
        f"one report at epsilon = 1 is right with probability {guess_bound(1):.3f}",
    )
    return Demonstration("averaging", "Averaging the answers of a party", (panel,), notes)


def _trial(series: str, times: int) -> Callable[[RandomSource], float]:
    return lambda source: outcome(series, times, source)[0]
