"""Many calls at once, bounded in number and in time: nobody is lost, and nobody waits for the slowest.

At most `MOST_CALLS` run at a time; more would come back as bare cancellations.  Whoever hangs must not keep the others
from being asked, so each call may take the time that is left divided by the number of windows that are still to come:
even if all of them hang, the last one is begun before the deadline.

Checked in tests/unit/parties/rounds/test_rounds_asking.py; the burst of 10,000 calls in tests/integration/test_rounds.py.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

import grpc

from localdp.cohorts import Cohort
from localdp.errors import DeadlineMissed, LocalDpError
from localdp.party.party import Request
from localdp.randomizers.definition import TalliedRandomizer, Tally, tally_packed
from parties import codec
from parties.coordinator import MOST_CALLS
from parties.receiving import Expected
from parties.repeating import Begun, Stub
from parties.status import error_of, reason
from parties.wire.v1 import oracle_pb2_grpc

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")
Work = Callable[[_Item, float], Awaitable[_Result]]  # of an item, until a time of the event loop


async def fan_out(
    items: Sequence[_Item],
    work: Work[_Item, _Result],
    deadline: float,
    window: int = MOST_CALLS,
    named: Callable[[_Item], str] = lambda item: "a party",
) -> list[_Result | LocalDpError]:
    """The outcome of every item, in order: its result, or why there is none.  Ends at the deadline, a loop time.

    What gRPC says is told of whoever the item names.
    """
    loop = asyncio.get_running_loop()
    outcomes: list[_Result | LocalDpError] = [DeadlineMissed("not done at the deadline") for _ in items]
    waiting = iter(range(len(items)))

    async def worker() -> None:
        for place in waiting:
            windows = math.ceil((len(items) - place) / window)
            until = loop.time() + (deadline - loop.time()) / windows
            outcomes[place] = await _outcome(work, items[place], until, named)

    workers = [asyncio.create_task(worker()) for _ in range(min(window, len(items)))]
    try:
        await asyncio.wait(workers, timeout=max(0.0, deadline - loop.time())) if workers else None
    finally:
        for task in workers:
            task.cancel()
        ends = await asyncio.gather(*workers, return_exceptions=True)
    for end in ends:
        if isinstance(end, Exception):  # not an error of the library, hence ours
            raise end
    return outcomes


async def _outcome(
    work: Work[_Item, _Result], item: _Item, until: float, named: Callable[[_Item], str]
) -> _Result | LocalDpError:
    try:
        async with asyncio.timeout_at(until):
            return await work(item, until)
    except TimeoutError:
        return DeadlineMissed("did not answer in its share of the time")
    except LocalDpError as error:
        return error
    except grpc.RpcError as failure:
        return error_of(failure, named(item))


def reason_of(error: LocalDpError) -> str:
    """Why somebody is missing, in one word that says nothing about whom: budget_exhausted, unreachable, ..."""
    return reason(type(error)).lower()


async def ask(
    channel: grpc.aio.Channel, request: Request, cohort: Cohort, people: int, until: float
) -> Tally:
    """The tally of one party's reports: all that were asked for, each well formed, or an error, perhaps gRPC's."""
    assert isinstance(request.randomizer, TalliedRandomizer)
    seconds = max(0.0, until - asyncio.get_running_loop().time())
    stub: Stub = oracle_pb2_grpc.LocalRandomizerOracleServiceStub(channel)
    call = stub.Randomize(codec.request_to_wire(request, cohort), timeout=seconds)
    try:
        return await _tally(call, request.randomizer, people)
    finally:
        call.cancel()


async def _tally(call: Begun, randomizer: TalliedRandomizer, people: int) -> Tally:
    merged, expected = randomizer.tally(randomizer.unpack(b"", 0)), Expected(people, "a party")
    async for message in call:
        expected.take(message)
        merged = merged.merge(tally_packed(randomizer, message.packed, message.reports))
    expected.require_none_left()
    return merged  # of a random part of the people a small party may have nobody
