"""A shuffler: it asks the parties itself, waits for everybody, and passes on reports that nobody can tell apart.

This is the whole of a shuffler's behaviour, without network or clock; `parties.shuffler` puts it behind gRPC.  With the
same secret both give the same bits.

What an aggregator must not be able to do, and why it cannot:
- learn who sent what, or in which order: reports are mixed by coins that only the shuffler knows (`mixing.py`);
- see some reports before the others, or know which party was slow: nothing leaves before everybody's report is there,
  and if one is missing nothing leaves at all;
- ask once about n people and once about n - 1 of them, and take the difference: parties are asked under an identifier that
  depends on the whole cohort, so that another cohort means other coins, at another charge;
- ask the parties behind the shuffler's back for the very reports that it mixed: the identifier is derived with the
  shuffler's secret;
- have few or too revealing reports mixed: a shuffler with a `Promise` works out what the mixing achieves, and refuses;
- learn from an error which party it is about: only the kind of the error is passed on.

The same request about the same cohort has the same answer, bit for bit, so that a call may be repeated.
Parties behind a shuffler must not answer by content: then they would not notice that a cohort changed.

Checked in tests/unit/oracles/test_shuffler.py and tests/contract/test_shuffler.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Protocol

import numpy as np

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.shuffling import FEWEST_PEOPLE, MOST_PEOPLE, Randomizer, Shuffled
from localdp.cohorts import Cohort
from localdp.errors import InvalidParameter, LocalDpError, PolicyRefused, TooFewReports, UnknownIndex
from localdp.framing import digest
from localdp.oracles.around import ReportsAround
from localdp.oracles.lr import LROracle
from localdp.oracles.mixing import mixed_reports
from localdp.oracles.party import Request
from localdp.oracles.question import MEMOISED, Question
from localdp.randomizers.definition import LocalRandomizer, Reports
from localdp.randomizers.one_bit import OneBitRandomizer
from localdp.randomness.keys import KEY_BYTES, derive_key
from localdp.randomness.keystream import KeystreamSource
from localdp.randomness.source import RandomSource

DEFAULT_DELTA = Fraction(1, 10**6)
SMALLEST_DELTA = Fraction(1, 10**12)
MOST_BYTES = 1 << 30  # of packed reports that one shuffler holds at a time


@dataclass(frozen=True, slots=True)
class Promise:
    """What mixed reports of one request are worth: (epsilon, delta), against whoever sees them, replace-one neighbours."""

    epsilon: Epsilon
    delta: Fraction = DEFAULT_DELTA

    def __post_init__(self) -> None:
        Epsilon.requested(self.epsilon)
        if not SMALLEST_DELTA <= self.delta < 1:
            raise InvalidParameter("a delta lies between 1e-12 and 1")

    def require(self, people: int, randomizer: LocalRandomizer) -> None:
        """Refuse to mix so many of these reports if that does not reach the promise."""
        if isinstance(randomizer, MEMOISED):
            raise PolicyRefused("permanent answers can be recognised, and are not mixed")
        local, kind = float(randomizer.epsilon), _kind(randomizer)
        if local > float(self.epsilon) and _delta(people, local, kind, self.epsilon) > float(self.delta):
            raise TooFewReports(
                f"mixing {people} reports of epsilon {randomizer.epsilon} does not reach the promised epsilon "
                f"{self.epsilon} at delta {float(self.delta):.3g}"
            )


class Mixer(LROracle, Protocol):
    """An LR oracle whose reports come mixed: a shuffler, here or behind gRPC."""

    @property
    def promise(self) -> Promise | None:
        """What it enforces; None: it mixes whatever it is asked to, and the aggregator minds the promise."""
        ...


class Shuffler(ReportsAround):
    """Passes on the reports of a whole cohort at once, in an order that says nothing."""

    def __init__(self, reports: LROracle, source: RandomSource, promise: Promise | None = None) -> None:
        """`source` gives the shuffler its secret: whoever knows it can undo the mixing."""
        super().__init__(reports)
        self._secret = source.raw("u1", KEY_BYTES).tobytes()
        self.promise = promise

    def reports(self, request: Request, cohort: Cohort) -> Iterator[Reports]:
        """All reports of the cohort, mixed; or, if one of them is missing, none."""
        asked = self.request_for(request, cohort)
        if cohort.start == cohort.stop:
            return
        self._require(cohort.stop - cohort.start, request.randomizer)
        everybody = self._gathered(asked, cohort)
        self._require(
            len(everybody), request.randomizer
        )  # of a random part of the people, it is known only now
        coins = KeystreamSource(derive_key(self._secret, b"order", asked.request_id))
        yield mixed_reports(everybody, coins)

    def request_for(self, request: Request, cohort: Cohort) -> Request:
        """What the parties are asked, under an identifier that nobody else can make; or a refusal."""
        if cohort.stop > self.people:
            raise UnknownIndex(f"the cohort ends at {cohort.stop}, but there are {self.people} people")
        text = Question.asked(request.query, self.schema, request.randomizer).text
        name = derive_key(self._secret, b"request", request.digest(text), _cohort_digest(cohort))
        return replace(request, request_id=name, query=text)

    def _require(self, people: int, randomizer: LocalRandomizer) -> None:
        if people * randomizer.report_bits > 8 * MOST_BYTES:
            raise PolicyRefused(f"a shuffler holds at most {MOST_BYTES} bytes of reports at a time")
        if self.promise is not None:
            self.promise.require(people, randomizer)

    def _gathered(self, asked: Request, cohort: Cohort) -> Reports:
        try:
            return np.concatenate(list(self.behind.reports(asked, cohort)))
        except LocalDpError as error:
            # Without its text, which may say whose people it is about and how many of them.
            raise type(error)(
                "not every party answered for all of its people, so nothing was mixed"
            ) from None


def _kind(randomizer: LocalRandomizer) -> Randomizer:
    """On a grid, too: a report there is a randomized response about a bit that is itself a coin of the value."""
    return "binary" if isinstance(randomizer, OneBitRandomizer) else "any"


@lru_cache(maxsize=256)
def _delta(people: int, local: float, kind: Randomizer, epsilon: Epsilon) -> float:
    if people < FEWEST_PEOPLE:
        return 1.0  # there is nobody to hide among
    return Shuffled(min(people, MOST_PEOPLE), local, kind).delta(float(epsilon))


def _cohort_digest(cohort: Cohort) -> bytes:
    split = cohort.split
    numbers = (
        (cohort.start, cohort.stop)
        if split is None
        else (cohort.start, cohort.stop, split.parts, split.part)
    )
    return digest(b"" if split is None else split.seed, *(number.to_bytes(8, "big") for number in numbers))
