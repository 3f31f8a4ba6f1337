"""The compiled steps of the protocol, each for the fields that are used: what there is to compile.

Checked in tests/unit/sharing/prio3/test_compiled_toolchain.py.
"""

from collections.abc import Callable
from functools import cached_property

import numpy as np

from localdp.sharing.prio3.batch.compiled import decide, prove, prove_one, query, sponge, tally
from localdp.sharing.prio3.batch.compiled.toolchain import entry
from localdp.sharing.prio3.batch.compiled.words import Word
from localdp.sharing.prio3.batch.role import Tell
from localdp.sharing.prio3.prio3 import Prio3

Step = Callable[..., None]


class Steps:
    """The steps over the field of so many words; each is compiled when it is first asked for."""

    def __init__(self, limbs: int) -> None:
        self._limbs = limbs

    @cached_property
    def streams(self) -> Step:
        """Seeds into words."""
        return entry(sponge.streams, sponge.STREAMS)

    @cached_property
    def query(self) -> Step:
        """Shares of measurements and proofs into shares of verifiers."""
        return entry(query.query, query.query_signature(self._limbs))

    @cached_property
    def decide(self) -> Step:
        """Shares of verifiers into what holds."""
        return entry(decide.decide, decide.decide_signature(self._limbs))

    @cached_property
    def tally(self) -> Step:
        """Rows into sums."""
        return entry(tally.tally, tally.TALLY)

    @cached_property
    def prove(self) -> Step:
        """Measurements into proofs."""
        return entry(prove.prove, prove.prove_signature(self._limbs))

    @cached_property
    def prove_one(self) -> Step:
        """The same, where a measurement is a single one among zeros."""
        return entry(prove_one.prove_one, prove_one.prove_one_signature(self._limbs))

    @cached_property
    def take_away(self) -> Step:
        """A helper's part from the leader's."""
        return entry(prove.take_away, prove.take_away_signature(self._limbs))


_SLICE_BYTES = 1 << 19  # Of input shares as field elements: about half of a second-level cache.
_SMALLEST_SLICE = 32  # Reports, so that a slice costs more than the calls around it.
VERIFYING = ("streams", "query", "decide", "tally")
SHARDING = ("streams", "prove", "prove_one", "take_away")


def limbs_of(prio3: Prio3) -> int:
    """Words of an element."""
    return prio3.field.encoded_bytes // 8


def build(prio3: Prio3, tell: Tell, sharding: bool) -> None:
    """Compile, or load from disk, everything that an instance needs; says beforehand what is next."""
    steps = Steps(limbs_of(prio3))
    names = list(dict.fromkeys(VERIFYING + (SHARDING if sharding else ())))
    for done, name in enumerate(names):
        tell(name, done, len(names))
        getattr(steps, name)
    tell("", len(names), len(names))


def element_of(prio3: Prio3, value: int) -> Word | tuple[Word, ...]:
    """An element as compiled functions take it."""
    words = [np.uint64(value >> 64 * limb & (1 << 64) - 1) for limb in range(limbs_of(prio3))]
    return words[0] if len(words) == 1 else tuple(words)


def slice_size(prio3: Prio3) -> int:
    """How many reports to take through all steps at once, so that what is sampled for them stays in the cache."""
    return max(_SMALLEST_SLICE, _SLICE_BYTES // (8 * limbs_of(prio3) * prio3.layout.leader_elements))
