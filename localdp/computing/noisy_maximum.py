"""NOISY_MAX on shares: three servers learn which score is nearly the largest, and nothing else.

    shared numbers  ->  TENT | coins of one-sided noise  ->  scores + noise  ->  tournament  ->  VERIFY  ->  open the index

What is a score is a rule (`shared_scores.py`): a sum, its distance from a guess, or how far a value is from a quantile.

Tournament.  Score j sits in lane bitreverse(j), so that lanes that are far apart are neighbours in the order of
scores, and ties go to the lower index.  In a stage groups of up to 16 are compared in all pairs (6 rounds), whoever
beats all others is found (4), and its value and index are chosen (1): 11 rounds for 16 scores, where halving would
take 28.  Lanes without a score have the value 0 and a higher index than all scores, so they never win.

Claim.  The index has the law of `selection_law.SelectionLaw`, for scores in the range of `sharing.selection`.  A
server sees the index and the messages of gates and proofs, each of whose views is enumerated in test_views.py and
test_proof.py; that of the whole protocol is not.
Checked in tests/unit/computing/test_noisy_maximum.py.
"""

from __future__ import annotations

import numpy as np

from localdp.computing.adding import added, widened
from localdp.computing.comparing import all_ones, greater_than
from localdp.computing.dialogue import Dialogue, together
from localdp.computing.gates import conjunction, lanes, opened_words
from localdp.computing.joint_noise import flipped_coins, words_for
from localdp.computing.seat import Seat, SharedElements, SharedWords, joined
from localdp.computing.shared_scores import scored
from localdp.computing.tent import sliced, tent
from localdp.computing.verification import verified
from localdp.errors import InvalidParameter
from localdp.sharing.digit_coins import require_small
from localdp.sharing.selection import SHIFTS, SelectionRule
from localdp.sharing.selection_law import SelectionLaw

VALUE_BITS = 32
_MOST_DOUBLINGS = 4  # of a group: 16 scores
MOST_SCORES = 1 << 20


def reversed_bits(number: int, bits: int) -> int:
    """The same bits in the other order."""
    return int(f"{number:0{bits}b}"[::-1], 2) if bits else 0


def lane_order(doublings: int) -> list[int]:
    """Which score sits in each lane."""
    return [reversed_bits(lane, doublings) for lane in range(1 << doublings)]


def noisy_maximum(
    seat: Seat, compared: SharedElements, law: SelectionLaw, rule: SelectionRule = "largest"
) -> Dialogue[int]:
    """The index, to all three servers; they hold shares of what the rule compares (`sharing.selection`)."""
    numbers = compared.count
    count = numbers - (rule == "quantile")
    if not 1 <= count <= MOST_SCORES:
        raise InvalidParameter(f"a selection is among 1 to {MOST_SCORES} scores")
    require_small(law.delta(count))
    doublings = (count - 1).bit_length()
    order = np.array(lane_order(doublings))
    values, coins = yield from together(
        tent(seat, compared, numbers, SHIFTS[rule]),
        flipped_coins(seat, law.coins.thresholds, law.coins.bits, words_for(1 << doublings)),
    )
    scores, one_more = yield from scored(seat, values, rule, np.where(order < count, order, 0))
    noisy = yield from added(
        seat,
        joined([one_more, widened(scores, VALUE_BITS)]),
        joined([one_more, widened(coins, VALUE_BITS)]),
    )
    present = sliced((order < count).astype(np.uint64), len(order))[0]
    index = yield from tournament(seat, noisy[1:].where(present), doublings)
    yield from verified(seat)
    return (yield from _opened(seat, index))


def tournament(seat: Seat, values: SharedWords, doublings: int) -> Dialogue[SharedWords]:
    """The bits of the index of the largest value, the least significant first, in lane 0."""
    index = values[:0]
    done = 0
    while done < doublings:
        step = min(_MOST_DOUBLINGS, doublings - done)
        size = 1 << doublings - done - step  # lanes of each part
        parts = [
            _block(joined([values, index]), reversed_bits(place, step), size) for place in range(1 << step)
        ]
        compared = SharedWords(np.stack([part.both[:, :VALUE_BITS] for part in parts], axis=2))
        wins = yield from _winners(seat, compared, size)
        rows = SharedWords(np.stack([part.both for part in parts], axis=1))
        repeated = SharedWords(np.broadcast_to(wins.both[:, :, None], rows.both.shape))
        chosen = (yield from conjunction(seat, repeated, rows)).added_up()
        digits = [
            wins[[place for place in range(1 << step) if place >> bit & 1]].added_up()
            for bit in range(step)
        ]
        values = chosen[:VALUE_BITS]
        index = joined([chosen[VALUE_BITS:], *(digit[None] for digit in digits)])
        done += step
    return index


def _block(rows: SharedWords, place: int, size: int) -> SharedWords:
    """So many lanes of each row, from place * size on; what stands behind them does not matter."""
    if size >= 64:
        return rows[:, place * size // 64 : (place + 1) * size // 64]
    word, lane = divmod(place * size, 64)
    return SharedWords(rows.both[:, :, word : word + 1] >> np.uint64(lane))


def _winners(seat: Seat, values: SharedWords, size: int) -> Dialogue[SharedWords]:
    """Which part has the largest value, the first of those that tie: (bits, parts, words) to one-hot (parts, words)."""
    parts = values.shape[1]
    pairs = [(low, high) for low in range(parts) for high in range(low + 1, parts)]
    lower, higher = (_side_by_side(values[::-1, [pair[side] for pair in pairs]], size) for side in (0, 1))
    beaten = _apart((yield from greater_than(seat, higher, lower)), size, len(pairs))
    kept = seat.flipped(beaten)
    column = {pair: place for place, pair in enumerate(pairs)}
    rivals = [[other for other in range(parts) if other != part] for part in range(parts)]
    terms = [
        [
            (beaten if other < part else kept).both[:, column[min(part, other), max(part, other)]]
            for part, other in enumerate(row)
        ]
        for row in zip(*rivals, strict=True)
    ]
    table = np.stack([np.stack(row, axis=1) for row in terms], axis=1)
    return (yield from all_ones(seat, SharedWords(table)))


def _side_by_side(numbers: SharedWords, size: int) -> SharedWords:
    """Numbers that fill a part of their words share words: (bits, pairs, 1) to (bits, fewer, 1)."""
    if size >= 64:
        return numbers
    slots = 64 // size
    whole = np.pad(numbers.both[..., 0], ((0, 0), (0, 0), (0, -numbers.shape[1] % slots)))
    places = np.arange(slots, dtype=np.uint64) * np.uint64(size)
    cleared = whole.reshape(*whole.shape[:2], -1, slots) & np.uint64((1 << size) - 1)
    return SharedWords(np.bitwise_xor.reduce(cleared << places, axis=3)[..., None])


def _apart(results: SharedWords, size: int, count: int) -> SharedWords:
    """What was found side by side, each in words of its own again: (fewer, 1) to (pairs, 1)."""
    if size >= 64:
        return results
    places = np.arange(64 // size, dtype=np.uint64) * np.uint64(size)
    return SharedWords((results.both >> places).reshape(2, -1, 1)[:, :count])


def _opened(seat: Seat, index: SharedWords) -> Dialogue[int]:
    """The index alone: of its words all lanes but the first are cleared before they are opened."""
    if not index.shape[0]:
        return 0
    words = yield from opened_words(seat, index[:, :1].where(np.array([1], np.uint64)))
    return sum(int(bit) << place for place, bit in enumerate(lanes(words, 1)))
