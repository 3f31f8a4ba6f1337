"""A stream that is counted step by step, under any trust model, and goes on after a crash (section 12.3, Figure 12.1).

Time passes for all parties alike: in each step some of the people of each party come, the next ones in its order, and
after the step the interval that ends with it is asked of those who came in it (`mechanisms/intervals.py`).  Who comes
when is public.  What comes back goes to the journal, and from there to whoever asked.

Claim.  That of `localdp/algorithms/streams/continual_count.py`: all counts cost a person epsilon.  After kill -9 the counts
that were told are told again bit for bit, from the journal; the step that broke off is gone on with, and nobody is charged
for it twice (`journal.py`).  A step that can no more be gone on with, because share servers gave its collection up or a
party began another epoch, stays open until its people are asked once more, at its price once more, if somebody says so.
Checked in tests/unit/parties/streams/test_stream.py and tests/fault/test_stream_kill_nine.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np

from localdp.accounting.claim import PrivacyClaim
from localdp.accounting.epsilon import Epsilon
from localdp.algorithms.streams.running_count import (
    CountSoFar,
    RunningCount,
    SummedInterval,
    asked_interval,
    stream_query,
)
from localdp.errors import InvalidParameter, LocalDpError, TooFewReports
from localdp.oracles.collecting import PASSING
from localdp.oracles.definition import StatisticalQueryOracle
from localdp.queries.encoded import entries_of
from localdp.randomness.keystream import KeystreamSource
from localdp.randomness.source import Integers, RandomSource
from parties.streams.journal import StreamJournal, StreamStep
from parties.streams.terms import StreamTerms

Make = Callable[[RandomSource], StatisticalQueryOracle]  # from what public identifiers are drawn from
Came = int | Mapping[str, int] | None


@dataclass(slots=True)
class CountedStream:
    """A running count, with its journal and whoever is asked."""

    terms: StreamTerms
    journal: StreamJournal
    make: Make
    noted: Callable[[str], None] = lambda step: (
        None
    )  # told of each step of the work: begun, asked, released
    _running: RunningCount = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.journal.begin(self.terms)
        self._read()

    @property
    def counts(self) -> Sequence[CountSoFar]:
        """After each step that is over."""
        return tuple(self._running.counts)

    @property
    def epsilon(self) -> Epsilon:
        """What a person has paid so far at most."""
        return spent(self.terms, self.journal.steps())

    @property
    def delta(self) -> Fraction:
        """With which probability, at most, that epsilon does not hold."""
        return risked(self.terms, self.journal.steps())

    @property
    def claim(self) -> PrivacyClaim:
        """What is promised about all counts so far."""
        claim = self.make(KeystreamSource.from_system()).claim
        if claim.epsilon is None:
            return claim
        return replace(claim, epsilon=self.epsilon, delta=self.delta)

    def next(self, came: Came = None, *, ask_again: bool = False) -> CountSoFar:
        """Take the next step, or go on with the one that broke off, and tell the count after it.

        `came` is how many people came in it: of each party by name, or of all of them, as many of each as its size says;
        by default they come evenly.  `ask_again` has the people of a step that broke off asked once more, and charged:
        those who came then, or those who are told now.
        """
        self._read()
        broke_off = len(self.journal.steps()) > self._running.step
        step = self._begun_anew(came) if ask_again and broke_off else self._begun(came)
        self.noted("begun")
        with _told_how_to_go_on(step.step, broke_off and not ask_again):
            asked = self._asked(step)
        interval = self.journal.release(step.step, step.attempt, asked)
        self.noted("released")
        return self._running.add(interval)

    def _read(self) -> None:
        """What was released, from the journal: another process may have gone on."""
        self._running = _running(self.terms, self.journal)

    def _begun(self, came: Came) -> StreamStep:
        steps, done = self.journal.steps(), self._running.step
        if done == self.terms.steps:
            raise InvalidParameter(f"the stream was made for {done} steps, and they are over")
        fresh = len(steps) == done
        if fresh or came is not None:
            ends = self._ends(came, done + 1, steps)
        if fresh:
            self._require_askable(steps, ends)
        # Between reading and writing, another process may have begun it with other people.
        step = self.journal.begin_step(done + 1, ends) if fresh else steps[done]
        return _of_people(step, None if came is None else ends)

    def _begun_anew(self, came: Came) -> StreamStep:
        """A step that broke off, under other identifiers, of the same people or of others."""
        steps, done = self.journal.steps(), self._running.step
        old = steps[done]
        ends = old.came if came is None else self._ends(came, done + 1, steps)
        self._require_askable(steps[:done], ends)
        self.journal.give_up(old.step, old.attempt, ends)
        return _of_people(self.journal.steps()[done], ends)

    def _require_askable(self, before: Sequence[StreamStep], ends: tuple[int, ...]) -> None:
        """Refuse a step that would be refused by the plan, before it is written down: nobody is asked."""
        step = StreamStep(len(before) + 1, ends, 0, None)
        ranges = people_of(self.terms, [*before, step], step.step)
        if not ranges:
            return
        oracle = self.make(KeystreamSource.from_system())
        try:
            oracle.among(ranges, self.terms.intervals.most).plan([stream_query(self.terms.query, oracle)])
        except TooFewReports as error:
            raise TooFewReports(
                f"{error}; step {step.step} did not begin: say that more people came in it, or nobody (came=0, --came 0), "
                "and that these came in a later one"
            ) from error

    def _ends(self, came: Came, step: int, steps: Sequence[StreamStep]) -> tuple[int, ...]:
        before = steps[step - 2].came if step > 1 else (0,) * len(self.terms.sizes)
        if came is None:
            even = (size * step // self.terms.steps for size in self.terms.sizes)
            return tuple(max(pair) for pair in zip(before, even, strict=True))
        return came_by(self.terms, before, came)

    def _asked(self, step: StreamStep) -> SummedInterval:
        # Of this attempt, and not of one that another process may have begun since: of that one it will be said.
        ranges = people_of(self.terms, [*self.journal.steps()[: step.step - 1], step], step.step)
        oracle = self.make(KeystreamSource(self.journal.identifiers(step.step, step.attempt, ranges)))
        query = stream_query(self.terms.query, oracle)
        if not ranges:
            return SummedInterval.empty(entries_of(query))
        released = asked_interval(oracle.among(ranges, self.terms.intervals.most), query)
        self.noted("asked")
        return released


def _of_people(step: StreamStep, ends: tuple[int, ...] | None) -> StreamStep:
    if ends is not None and ends != step.came:
        raise InvalidParameter(
            f"step {step.step} began with other people, and is not over: go on with it without saying who came"
        )
    return step


@contextmanager
def _told_how_to_go_on(step: int, again: bool) -> Iterator[None]:
    """What is refused of a step that broke off may never be answered: then its people can be asked anew."""
    try:
        yield
    except LocalDpError as error:
        if not again or isinstance(error, PASSING):
            raise
        raise type(error)(
            f"{error}; step {step} broke off, and if it cannot be gone on with, next(ask_again=True) or --ask-again "
            "asks its people once more, who pay for it once more"
        ) from error


def released(journal: StreamJournal) -> list[CountSoFar]:
    """The counts that were told, of a stream that began; nobody is asked."""
    terms = journal.terms()
    return [] if terms is None else _running(terms, journal).counts


def _running(terms: StreamTerms, journal: StreamJournal) -> RunningCount:
    running = RunningCount(terms.intervals)
    for step in journal.steps():
        if step.released is not None:
            running.add(step.released)
    return running


def came_by(terms: StreamTerms, before: Sequence[int], came: int | Mapping[str, int]) -> tuple[int, ...]:
    """How many people of each party had come by the end of a step in which these came."""
    if isinstance(came, int):
        left = [size - one for size, one in zip(terms.sizes, before, strict=True)]
        ends = np.array(before) + _shared_out(came, left)
    else:
        unknown = set(came) - {name for name, _ in terms.parties}
        if unknown:
            raise InvalidParameter(f"there is no party {min(unknown)!s:.40} in this stream")
        ends = np.array(before) + np.array([int(came.get(name, 0)) for name, _ in terms.parties])
    if any(not a <= b <= size for a, b, size in zip(before, ends, terms.sizes, strict=True)):
        raise InvalidParameter(
            "a step has people who have not come before, at most as many as each party has left"
        )
    return tuple(int(one) for one in ends)


def _shared_out(came: int, left: Sequence[int]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """So many of all who are left, of each party in proportion, the rest of the first ones."""
    if not 0 <= came <= sum(left):
        raise InvalidParameter(f"{came:,} people came, and {sum(left):,} are left who have not")
    parts = np.array([came * one // max(1, sum(left)) for one in left], np.int64)
    room = [place for place, one in enumerate(left) if parts[place] < one]
    parts[room[: came - int(parts.sum())]] += 1
    return parts


def people_of(terms: StreamTerms, steps: Sequence[StreamStep], step: int) -> list[range]:
    """Who came in the interval that ends at a step, in the numbering of all people."""
    starts, stops = _asked_of(terms, steps, step, steps[step - 1].came)
    return [range(*pair) for pair in zip(starts.tolist(), stops.tolist(), strict=True) if pair[0] < pair[1]]


def _asked_of(
    terms: StreamTerms, steps: Sequence[StreamStep], step: int, came: tuple[int, ...]
) -> tuple[Integers, Integers]:
    """From where to where people of each party are in that interval, if so many had come by its end."""
    first = terms.intervals.before(step)
    before = steps[first - 1].came if first else (0,) * len(terms.sizes)
    offsets = np.cumsum([0, *terms.sizes[:-1]])
    return offsets + np.array(before, np.int64), offsets + np.array(came, np.int64)


def spent(terms: StreamTerms, steps: Sequence[StreamStep]) -> Epsilon:
    """What somebody has paid at most: for each interval of the own step, as often as it was asked."""
    return terms.each * most_paid(terms, steps)


def risked(terms: StreamTerms, steps: Sequence[StreamStep]) -> Fraction:
    """With which probability, at most, what was spent does not hold: the deltas of these intervals, added up."""
    return min(Fraction(1), terms.each_delta * most_paid(terms, steps))


def most_paid(terms: StreamTerms, steps: Sequence[StreamStep]) -> int:
    """How many intervals somebody has paid for at most, each as often as it was asked of them."""
    asked = [_asked_of(terms, steps, one.step, came) for one in steps for came in one.asked]
    if not asked:
        return 0
    starts, stops = (np.concatenate(side) for side in zip(*asked, strict=True))
    some = starts < stops
    places = np.concatenate([stops[some], starts[some]])  # whoever leaves does so before somebody comes
    more = np.repeat([-1, 1], int(some.sum()))
    return int(np.cumsum(more[np.argsort(places, kind="stable")]).max(initial=0))
