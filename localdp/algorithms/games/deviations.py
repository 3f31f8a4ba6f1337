"""What people gain by leaving the road that they take: how near a play is to an equilibrium (Definition 10.3).

Only experiments and tests can know it: it looks at everybody's records.
Checked in tests/unit/algorithms/games/test_equilibrium.py.
"""

from __future__ import annotations

import numpy as np

from localdp.algorithms.games.billboard import Billboard
from localdp.domains import Records
from localdp.randomness.source import Floats, Integers


def gains(board: Billboard, records: Records) -> Floats:
    """What each person would gain by the best other road, while all others stay on the roads that they take now."""
    taken = board.roads(records)
    loads = loads_of(taken, board.game.roads)
    moved = _costs(board, records, loads + 1 / records.people)
    stayed = np.take_along_axis(_costs(board, records, loads), taken[None], axis=0)[0]
    np.put_along_axis(moved, taken[None], stayed[None], axis=0)
    best: Floats = stayed - moved.min(axis=0)
    return best


def regrets(board: Billboard, records: Records) -> Floats:
    """What each person would gain by the best single road, had they drawn theirs from all rounds alike."""
    rounds, roads = len(board.published), board.game.roads
    shares = np.zeros((roads, records.people))
    for number in range(rounds):
        taken = board.before(number).roads(records)
        np.add.at(shares, (taken, np.arange(records.people)), 1 / rounds)
    costs = _costs(board, records, shares.mean(axis=1))
    regretted: Floats = (shares * costs).sum(axis=0) - costs.min(axis=0)
    return regretted


def loads_of(taken: Integers, roads: int) -> Floats:
    """The share of people on each road."""
    return np.bincount(taken, minlength=roads) / len(taken)


def _costs(board: Billboard, records: Records, loads: Floats) -> Floats:
    """What each road costs each person at these loads: a row for each road."""
    public = np.array(board.game.base, np.float64) + np.array(board.game.slope, np.float64) * loads
    return public[:, None] + board.own_costs(records)
