"""Each protocol whole, in a few lines, for reading: one count of n bits, from the bits to the answer.

These functions are the executable summary of the system.  They do what the oracles, parties and servers do, with the same
parts, but without budgets, cohorts, wires or retries.  Tests hold the long way to the short one.

Checked in tests/unit/oracles/test_protocols.py.
"""

from localdp.accounting.epsilon import Epsilon
from localdp.randomizers.one_bit import binary_randomized_response
from localdp.randomness.source import Bits, RandomSource
from localdp.sharing import additive, field
from localdp.sharing.noise_plans import NoisePlan, ServerNoise, central_law


def run_exact_count(bits: Bits) -> int:
    """Everybody shows their bit."""
    return int(bits.sum())


def run_curator_count(bits: Bits, epsilon: Epsilon, source: RandomSource) -> int:
    """The curator sees the bits, and adds discrete Laplace noise to their sum (section 3.3)."""
    noise = central_law(epsilon, sensitivity=1).sample(source, 1)
    return int(bits.sum()) + int(noise[0])


def run_local_count(bits: Bits, epsilon: Epsilon, source: RandomSource) -> float:
    """Each person flips their bit with probability 1 / (1 + e^epsilon); the aggregator debiases the sum (section 12.1)."""
    randomizer = binary_randomized_response(epsilon)
    reports = randomizer.randomize(bits, source)  # at the parties, each with its own coins
    wire = randomizer.pack(reports)
    received = randomizer.unpack(wire, len(bits))  # at the aggregator
    return randomizer.estimate(randomizer.tally(received)).value * len(bits)


def run_shared_count(
    bits: Bits,
    epsilon: Epsilon,
    source: RandomSource,
    *,
    servers: int = 2,
    plan: NoisePlan = NoisePlan.EACH_SERVER,
) -> int:
    """Each person splits their bit into shares; each server adds up its shares and adds noise (section 9.3)."""
    noise = ServerNoise(plan, epsilon, sensitivity=1, servers=servers)
    # At the parties, each with its own coins.
    shares = additive.split(bits.astype("int64"), servers, source)
    # At the servers, each with its own coins.
    released = [field.total(held) + int(noise.draw(source, 1)[0]) for held in shares]
    return additive.combine(released)  # at the collector
