"""People in blocks: a public partition, and an estimate of each block, which is asked about as a record is (Figure 7.1).

Sample and aggregate: f is computed of every block, and the results are aggregated privately.  Here the results are a table
of one column, `value`, with a row for each block, and whatever can be asked of people can be asked of blocks: the mean of
`value` is the first aggregator of section 7.1, a histogram of it the second, its median by `select` the third.

The partition is drawn by public coins (`seed`); all blocks are of the same size but for one person.  Text, such as

    logistic(smoker, age/100) in [-3, 3] by 8f0c5f5e2b6f4ad7b7c0c9d2a9a1f3e4

Claim.  Replacing one person's record changes the row of one block and of no other, whatever f is; so what is
epsilon-private for a table of blocks is so for people, and each of them pays epsilon.  The work does not depend on values.
Checked in tests/unit/queries/test_blocks.py.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache

import numpy as np

from localdp.domains import IntegerDomain, RealDomain, Records, Schema
from localdp.domains.spelling import suggestion
from localdp.errors import InvalidParameter, QueryRefused
from localdp.queries.checking import type_of
from localdp.queries.estimators import ESTIMATORS, BlockEstimator, Blocking, BlockInputs
from localdp.queries.evaluate import evaluate
from localdp.queries.expressions import Ball, Scalar
from localdp.queries.kinds import BitType
from localdp.queries.text import to_text
from localdp.queries.vector_query import VectorQuery
from localdp.randomness.lanes import LanedSource
from localdp.randomness.source import Floats

VALUE = "value"  # the column of the table of blocks
SEED_BYTES = 16
MOST_BLOCKS = 1 << 20
_CALL = re.compile(r"\s*([a-z]+)\s*\((.*)\)\s*", re.DOTALL)
_TEXT = re.compile(r"(.+?)(?: in \[([^,\]]+), ([^\]]+)\])? by ([0-9a-f]{32})", re.DOTALL)


@dataclass(frozen=True, slots=True)
class BlockEstimate:
    """An estimator with its inputs, checked against a schema: what is computed of a block."""

    estimator: BlockEstimator
    inputs: VectorQuery
    low: float
    high: float

    @classmethod
    def parse(
        cls, text: str, schema: Schema, low: float | None = None, high: float | None = None
    ) -> BlockEstimate:
        """What a text means on a schema, or `QueryRefused`; a number lies between bounds."""
        called = _CALL.fullmatch(text)
        name = called[1] if called else ""
        if called is None or name not in ESTIMATORS:
            near = suggestion(name, list(ESTIMATORS))
            raise QueryRefused(
                f"a block's estimate is one of {', '.join(ESTIMATORS)}, such as median(age){near}"
            )
        estimator, inputs = ESTIMATORS[name], VectorQuery.parse(f"ball({called[2]})", schema)
        if estimator.kind == "choice":
            _require_no_bounds(name, low, high)
            return cls(estimator, inputs, 0.0, float(inputs.length - 2))._fitting()
        if low is None or high is None or not -1e15 <= low < high <= 1e15:
            raise InvalidParameter(f"say between which bounds {name} lies: low and high, as public numbers")
        return cls(estimator, inputs, float(low), float(high))._fitting()

    def _fitting(self) -> BlockEstimate:
        row, forms = self.estimator, self.forms
        if not row.least_inputs <= len(forms) <= row.most_inputs:
            raise QueryRefused(
                f"{row.name} takes {row.least_inputs} to {row.most_inputs} inputs; it got {len(forms)}"
            )
        wanted = forms if row.conditions < 0 else forms[: row.conditions]
        if not all(isinstance(type_of(form, self.inputs.schema), BitType) for form in wanted):
            raise QueryRefused(f"{row.name} is of conditions: its first input is one")
        return self

    @property
    def forms(self) -> tuple[Scalar, ...]:
        """The inputs, as expressions."""
        assert isinstance(self.inputs.expression, Ball)
        return self.inputs.expression.forms

    @property
    def text(self) -> str:
        """As it is written."""
        return self.estimator.name + self.inputs.text.removeprefix("ball")

    @property
    def choices(self) -> tuple[str, ...]:
        """Of an estimator that chooses: what it chooses from."""
        return tuple(map(to_text, self.forms[1:])) if self.estimator.kind == "choice" else ()

    @property
    def table(self) -> Schema:
        """What a block's row is."""
        if self.estimator.kind == "choice":
            return Schema({VALUE: IntegerDomain(0, int(self.high))})
        return Schema({VALUE: RealDomain(self.low, self.high)})

    def of(self, records: Records, blocking: Blocking) -> Floats:
        """The estimate of every block, within the bounds."""
        forms = self.forms

        def column(place: int) -> Floats:
            return evaluate(forms[place], records).astype(np.float64)

        inputs = BlockInputs(column, len(forms), blocking, self.low, self.high)
        found = np.nan_to_num(self.estimator.of_blocks(inputs), nan=self.low)
        return np.clip(found, self.low, self.high)


@dataclass(frozen=True, slots=True)
class PeopleInBlocks:
    """An estimate and the coins of the partition: all that has to be said for a party to answer by blocks."""

    estimate: BlockEstimate
    seed: bytes
    text: str = field(init=False, compare=False)

    def __post_init__(self) -> None:
        if len(self.seed) != SEED_BYTES:
            raise InvalidParameter(f"the seed of a partition has {SEED_BYTES} bytes")
        one = self.estimate
        within = "" if one.estimator.kind == "choice" else f" in [{one.low!r}, {one.high!r}]"
        object.__setattr__(self, "text", f"{one.text}{within} by {self.seed.hex()}")

    @classmethod
    @lru_cache(maxsize=64)
    def parse(cls, text: str, schema: Schema) -> PeopleInBlocks:
        """What a canonical text means on a schema; any other text is refused."""
        told = _TEXT.fullmatch(text)
        if told is None:
            raise QueryRefused("blocks are written: estimate in [low, high] by seed")
        bounds = [None if one is None else _number(one) for one in (told[2], told[3])]
        made = cls(BlockEstimate.parse(told[1], schema, *bounds), bytes.fromhex(told[4]))
        if made.text != text:
            raise QueryRefused("this is not the canonical text of blocks")
        return made

    @property
    def table(self) -> Schema:
        """What a block's row is."""
        return self.estimate.table

    @property
    def columns(self) -> frozenset[str]:
        """The columns of people that it looks at."""
        return self.estimate.inputs.columns

    def partition(self, people: int, blocks: int) -> Blocking:
        """All people in so many blocks, of the same size but for one person."""
        require_blocks(blocks, people)
        words = LanedSource(self.seed, range(people)).raw(np.uint64, people)
        sizes = np.full(blocks, people // blocks, np.int64)
        sizes[: people % blocks] += 1
        return Blocking(np.argsort(words, kind="stable"), sizes)

    def records(self, people: Records, blocks: int) -> Records:
        """The table of blocks of these people."""
        found = self.estimate.of(people, self.partition(people.people, blocks))
        whole = self.estimate.estimator.kind == "choice"
        return Records(self.table, {VALUE: found.astype(np.int64) if whole else found})


def require_blocks(blocks: int, people: int) -> None:
    """Refuse so many blocks of so many people."""
    if not 1 <= blocks <= min(MOST_BLOCKS, people):
        raise InvalidParameter(f"{people} people are divided into 1 to {min(MOST_BLOCKS, people)} blocks")


def blocks_of_parties(blocks: int, sizes: Sequence[int]) -> tuple[int, ...]:
    """How many blocks each party has: at least one, and beyond that in proportion to its people."""
    people = sum(sizes)
    require_blocks(blocks, people)
    if blocks < len(sizes):
        raise InvalidParameter(f"there are {len(sizes)} parties, each of which is at least one block")
    shares = [Fraction((blocks - len(sizes)) * size, people) for size in sizes]
    whole = [math.floor(share) for share in shares]
    by_rest = sorted(range(len(sizes)), key=lambda one: (whole[one] - shares[one], one))
    for one in by_rest[: blocks - len(sizes) - sum(whole)]:
        whole[one] += 1
    for one, size in enumerate(sizes):
        require_blocks(1 + whole[one], size)
    return tuple(1 + one for one in whole)


def _require_no_bounds(name: str, low: float | None, high: float | None) -> None:
    if low is not None or high is not None:
        raise InvalidParameter(f"{name} chooses among its inputs, and has no bounds")


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise QueryRefused("the bounds of a block's estimate are numbers") from None
