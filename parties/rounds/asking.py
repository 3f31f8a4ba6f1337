"""Many calls at once, bounded in number and in time: nobody is lost, and nobody waits for the slowest.

At most `MOST_CALLS` run at a time, each in a thread; more would come back as bare cancellations.  Whoever hangs must not
keep the others from being asked, so each call may take the time that is left divided by the number of windows that are
still to come: even if all of them hang, the last one is begun before the deadline.  That a call ends when its time is over
is gRPC's affair, so `fan_out` itself waits for whoever it has begun.

Checked in tests/unit/parties/rounds/test_rounds_asking.py; the burst of 10,000 calls in
tests/integration/test_rounds_at_scale.py.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import TypeVar

from localdp.errors import LocalDpError
from localdp.randomizers.definition import LocalRandomizer, Tally, require_tallied, tally_packed
from parties.coordinator import MOST_CALLS
from parties.receiving import Piece
from parties.status import reason

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")
Clock = Callable[[], float]


def fan_out(
    items: Sequence[_Item],
    work: Callable[[_Item, float], _Result],
    deadline: float,
    window: int = MOST_CALLS,
    give_up: Callable[[], None] = lambda: None,
    clock: Clock = time.monotonic,
) -> list[_Result | LocalDpError]:
    """The outcome of every item, in order: its result, or why there is none; the deadline is one of the clock.

    Work is told how many seconds it may take, and ends by then.  `give_up` has whatever runs end at once, where this call
    is interrupted or comes to a mistake of our own.
    """

    def outcome(place: int) -> _Result | LocalDpError:
        try:
            return work(items[place], share_of(place, len(items), window, deadline - clock()))
        except LocalDpError as error:
            return error

    with ThreadPoolExecutor(window) as threads:
        try:
            futures = [threads.submit(outcome, place) for place in range(len(items))]
            for future in as_completed(futures):
                future.result()  # a mistake of our own is raised as soon as it is made
            return [future.result() for future in futures]
        except BaseException:
            threads.shutdown(wait=False, cancel_futures=True)
            give_up()
            raise


def share_of(place: int, items: int, window: int, seconds_left: float) -> float:
    """What an item that is begun now may take: its window's share of the time that is left."""
    return max(0.0, seconds_left) / math.ceil((items - place) / window)


def reason_of(error: LocalDpError) -> str:
    """Why somebody is missing, in one word that says nothing about whom: budget_exhausted, unreachable, ..."""
    return reason(type(error)).lower()


def tallied(randomizer: LocalRandomizer, messages: Iterable[Piece]) -> Tally:
    """The sums over the reports in some messages, each of which is well formed; of nobody's reports they are zero."""
    summed = require_tallied(randomizer)
    merged = summed.tally(summed.unpack(b"", 0))
    for message in messages:
        merged = merged.merge(tally_packed(summed, message.packed, message.reports))
    return merged
