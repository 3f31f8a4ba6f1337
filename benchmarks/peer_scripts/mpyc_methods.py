"""What MPyC 0.11 takes for what share servers compute, among three processes of this machine, with its secure arrays.

    python mpyc_methods.py <method> <size> <repetitions> -M3 -B <port>

The processes trust each other to follow the protocol, and nothing is verified.  Party 0 prints one JSON object: the best of
all repetitions in seconds, and the processor time of all three, which is three times its own.

The noisy maximum has the law of `localdp.sharing.selection_law`, but for coins of 31 bits in the place of 64, which are
cheaper: digits of a geometric number, each a comparison of random bits with a public number.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from functools import partial
from math import exp
from time import perf_counter, process_time
from typing import Any

import numpy as np
from mpyc.runtime import mpc

BITS, COIN_BITS, DIGITS = 32, 31, 7
secint = mpc.SecInt(
    BITS
)  # in a field of 64 bits that MPyC picks so that square roots, hence random bits, are cheap
ours = mpc.SecFld(2**64 - 2**32 + 1)  # the field of counts and sums at share servers


def entered(size: int) -> Any:
    """Secret numbers, which all parties know: how they came is not measured."""
    return secint.array(np.arange(size) * 7919 % 65_521)


async def random_bits(size: int) -> None:
    """In the field of counts and sums."""
    await mpc.gather(mpc.np_random_bits(ours, size))


async def random_bits_there(size: int) -> None:
    """In the field that MPyC picks."""
    await mpc.gather(mpc.np_random_bits(secint, size))


async def comparisons(size: int) -> None:
    """Of two secret numbers each."""
    await mpc.output(entered(size) < entered(size)[::-1])


async def argmax(size: int) -> None:
    """The index of the largest."""
    await mpc.output(mpc.np_argmax(entered(size)))


async def noisy_maximum(size: int) -> None:
    """Numbers, and one-sided geometric noise of scale 2 for each."""
    bits = mpc.np_random_bits(secint, size * DIGITS * COIN_BITS).reshape(size * DIGITS, COIN_BITS)
    uniform = bits @ secint.array(1 << np.arange(COIN_BITS))
    chances = [1 / (1 + exp((1 << digit) / 2)) for digit in range(DIGITS)]
    bounds = np.tile([int(chance * (1 << COIN_BITS)) for chance in chances], size)
    coins = (uniform < secint.array(bounds)).reshape(size, DIGITS)
    noisy = entered(size) + coins @ secint.array(1 << np.arange(DIGITS))
    await mpc.output(mpc.np_argmax(noisy))


METHODS: dict[str, Callable[[int], Awaitable[None]]] = {
    "random bits": random_bits,
    "random bits in a field of its own": random_bits_there,
    "comparisons": comparisons,
    "argmax": argmax,
    "noisy maximum": noisy_maximum,
}


async def main(name: str, size: int, repetitions: int) -> None:
    """Run a method, small once and then as it is."""
    await mpc.start()
    method, seconds, work = METHODS[name], float("inf"), float("inf")
    await method(16)
    for _ in range(repetitions):
        wall, own = perf_counter(), process_time()
        await method(size)
        seconds, work = min(seconds, perf_counter() - wall), min(work, 3 * (process_time() - own))
    if mpc.pid == 0:
        print(json.dumps({"seconds": seconds, "work": work}))
    await mpc.shutdown()


asyncio.get_event_loop().create_server = partial(asyncio.get_event_loop().create_server, host="127.0.0.1")  # type: ignore[method-assign]
mpc.run(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
