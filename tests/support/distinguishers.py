"""Two who guess from views which of two inputs they belong to: they learn from known views, and guess about new ones."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from localdp.sharing.blocks import Octets

ALPHA = 1e-6


def by_all_bytes(known: list[Octets], new: list[Octets]) -> float:
    """Which answer the frequencies of the bytes make more likely."""
    scores = [_log_frequencies(view) for view in known]
    correct = 0
    for truth, view in enumerate(new):
        places = np.arange(view.shape[1])
        likely = [score[places, view].sum(axis=1) for score in scores]
        correct += int(np.count_nonzero((likely[1] > likely[0]) == bool(truth)))
    return correct / sum(map(len, new))


def by_one_bit(known: list[Octets], new: list[Octets]) -> float:
    """What the bit says whose mean differs most between the answers."""
    zero, one = (np.unpackbits(view, axis=1).mean(axis=0) for view in known)
    place = int(np.abs(one - zero).argmax())
    flipped = bool(one[place] < zero[place])
    correct = 0
    for truth, view in enumerate(new):
        said = np.unpackbits(view, axis=1)[:, place].astype(np.bool_) ^ flipped
        correct += int(np.count_nonzero(said == bool(truth)))
    return correct / sum(map(len, new))


def _log_frequencies(view: Octets) -> NDArray[np.float64]:
    """Of each value at each place, with one more than was seen."""
    counts = np.ones((view.shape[1], 256))
    np.add.at(counts, (np.arange(view.shape[1])[None, :], view), 1)
    return np.asarray(np.log(counts / counts.sum(axis=1, keepdims=True)))


def margin(views: int) -> float:
    """How far from one half the hits among so many new views stay, but with probability ALPHA / 2 (Hoeffding)."""
    return math.sqrt(math.log(4 / ALPHA) / (2 * views))
