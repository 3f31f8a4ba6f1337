"""The game of Definition 3.7, shown: how often an adversary who chooses everything wins, with and without a ledger.

Checked in tests/unit/experiments/test_attack_runs.py.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.ledger import MemoryLedger
from localdp.attacks.composition_game import (
    OTHERS,
    SCHEMA,
    Adversary,
    AllAtOnce,
    Enter,
    StepByStep,
    chance,
    guess,
    play,
)
from localdp.attacks.subset_sums import guess_bound, random_bits
from localdp.domains import Records
from localdp.experiments.attack_trials import Range
from localdp.experiments.panels import Demonstration, Panel, Point
from localdp.oracles.lr import InProcessLROracle, LROracle
from localdp.party.party import Party
from localdp.party.policy import Policy
from localdp.randomness.source import RandomSource, uniform_bytes

LIMITS = ("0.25", "0.5", "1", "2", "3")
ROUNDS = (1, 4, 16, 64)
WON = "fraction of games that the adversary wins"
ONCE, CAREFUL, OFF, BOUND = "all at once", "carefully", "ledger off", "at most"
_PLENTY = Epsilon(10**12)


def party_of(limit: Epsilon, source: RandomSource) -> Enter:
    """A party in this process with a ledger of this limit, which goes on from epoch to epoch."""
    nobody = Records(SCHEMA, {"secret": np.zeros(OTHERS + 1, np.bool_)})
    policy = Policy(largest_epsilon=Epsilon.requested(30))
    ledger = MemoryLedger(OTHERS + 1, limit)
    party = Party("party", nobody, uniform_bytes(source, 32), ledger, policy)

    def enter(records: Records) -> LROracle:
        party.enter(party.epoch.next(records))
        return InProcessLROracle([party])

    return enter


def game_trial(adversary: Adversary, limit: Epsilon, source: RandomSource) -> float:
    """Whether the adversary guesses the bit of one game."""
    bit = int(random_bits(1, source)[0])
    return float(guess(play(adversary, bit, party_of(limit, source), source)) == bit)


def game(tried: Range) -> Demonstration:
    """Both panels."""
    notes = (
        "the adversary chooses neighbouring records, the mechanism and its epsilon for each round, from all that it heard",
        "at most: exp(epsilon) / (1 + exp(epsilon)), whatever it chooses; spending everything at once reaches it",
    )
    return Demonstration("game", "The game of Definition 3.7", (_by_limit(tried), _by_rounds(tried)), notes)


def _by_limit(tried: Range) -> Panel:
    points = []
    for text in LIMITS:
        limit = Epsilon.requested(text)
        for name, adversary in ((ONCE, AllAtOnce(limit)), (CAREFUL, StepByStep(limit, ROUNDS[-1]))):
            predicted = float(chance(adversary, limit))
            points.append(
                tried.point(name, float(limit), partial(game_trial, adversary, limit), predicted=predicted)
            )
        points.append(Point(BOUND, float(limit), guess_bound(float(limit)), 1))
    return Panel(
        "a ledger that ends at epsilon",
        "epsilon of the ledger",
        WON,
        tuple(points),
        predicted="over every transcript",
    )


def _by_rounds(tried: Range) -> Panel:
    one, points = Epsilon.requested(1), []
    for rounds in ROUNDS:
        adversary = AllAtOnce(one, rounds)
        for name, limit in ((ONCE, one), (OFF, _PLENTY)):
            points.append(tried.point(name, rounds, partial(game_trial, adversary, limit)))
        points.append(Point(BOUND, rounds, guess_bound(1), 1))
    return Panel(
        "a ledger that ends at epsilon = 1, and none", "rounds, each at epsilon = 1", WON, tuple(points)
    )
