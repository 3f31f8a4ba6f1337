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
- ask again and again: what was promised about each person adds up in a ledger, up to the promise's total;
- have a request drawn anew, because a party lost its memory of it: other reports under a name that is booked are refused;
- learn from an error which party it is about: only the kind of the error is passed on.

The same request about the same cohort has the same answer, bit for bit, so that a call may be repeated.
Parties that answer by content would not notice that a cohort changed, and are refused.

Checked in tests/unit/oracles/test_shuffler.py, tests/unit/oracles/test_shuffler_attacks.py and
tests/contract/test_shuffler.py.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Protocol, runtime_checkable

import numpy as np

from localdp.accounting.promise_ledger import MemoryPromiseLedger, Outlay, PromiseLedger, trillionths_above
from localdp.cohorts import Cohort
from localdp.errors import InvalidParameter, LocalDpError, PolicyRefused, TooFewReports, UnknownIndex
from localdp.framing import digest
from localdp.oracles.flood_mixing import FloodedParties, FloodMixing, MixedFlood, round_of
from localdp.oracles.lr import LROracle, cohorts_by_party
from localdp.oracles.mixing import mixed_reports
from localdp.oracles.promise import DEFAULT_DELTA, SMALLEST_DELTA, Promise
from localdp.oracles.wrapping import ReportsAround
from localdp.party.party import Request
from localdp.party.policy import operator_of
from localdp.randomizers.definition import Reports
from localdp.randomness.keys import KEY_BYTES, derive_key
from localdp.randomness.keystream import KeystreamSource
from localdp.randomness.source import RandomSource, uniform_bytes
from localdp.sharing.collection import Contributor
from localdp.sharing.flooded_round import FloodedQuestion

__all__ = [
    "DEFAULT_DELTA",
    "SMALLEST_DELTA",
    "KnownParties",
    "Mixer",
    "Promise",
    "Shuffler",
    "hidden_from",
]

MOST_BYTES = 1 << 30  # of packed reports that one shuffler holds at a time
_MISSING = "not every party answered for all of its people, so nothing was mixed"


@runtime_checkable
class KnownParties(Protocol):
    """Reports of parties that are known one by one, as a shuffler has to know them."""

    @property
    def contributors(self) -> tuple[Contributor, ...]:
        """The parties, in order, and how many people each speaks for."""
        ...

    @property
    def by_content(self) -> tuple[str, ...]:
        """The parties that give the same question the same report, under whatever identifier."""
        ...


class Mixer(LROracle, Protocol):
    """An LR oracle whose reports come mixed: a shuffler, here or behind gRPC."""

    @property
    def second_key(self) -> bytes:
        """To which agents seal messages once more, if it is a second shuffler (`second_shuffler.py`)."""
        ...

    @property
    def promise(self) -> Promise | None:
        """What it enforces; None: it mixes whatever it is asked to, and the aggregator minds the promise."""
        ...

    @property
    def hiding(self) -> int:
        """How many people there are whose reports the aggregator cannot have been told."""
        ...

    def flooded(self, question: FloodedQuestion, cohorts: Sequence[Cohort]) -> MixedFlood:
        """The codes of a flooded round's messages, mixed."""
        ...


class Shuffler(ReportsAround):
    """Passes on the reports of a whole cohort at once, in an order that says nothing."""

    second_key = b""

    def __init__(
        self,
        reports: LROracle,
        source: RandomSource,
        promise: Promise | None = None,
        ledger: PromiseLedger | None = None,
    ) -> None:
        """`source` gives the shuffler its secret: whoever knows it can undo the mixing.

        `ledger` holds what was promised about each person so far; unless one is given it begins here, and ends with the
        process.
        """
        super().__init__(reports)
        if reports.by_row:
            raise InvalidParameter(
                "a shuffler does not mix reports of parties whose every row answers: people would hide among their own rows"
            )
        self._secret = uniform_bytes(source, KEY_BYTES)
        self._parties = reports.contributors if isinstance(reports, KnownParties) else ()
        self._refuse_by_content()
        self.promise = promise
        self._ledger = ledger
        if promise is not None:
            self._require_parties(promise)
            self._ledger = ledger or MemoryPromiseLedger(promise.epsilon_total, promise.delta_total)

    @property
    def hiding(self) -> int:
        return (
            self.people
            if self.promise is None
            else self.promise.hiding((one.name, one.people) for one in self._parties)
        )

    def reports(self, request: Request, cohort: Cohort) -> Iterator[Reports]:
        """All reports of the cohort, mixed; or, if one of them is missing, none."""
        asked = self.request_for(request, cohort)
        if cohort.start == cohort.stop:
            return
        if (cohort.stop - cohort.start) * request.randomizer.report_bits > 8 * MOST_BYTES:
            raise PolicyRefused(f"a shuffler holds at most {MOST_BYTES} bytes of reports at a time")
        outlay = self._admitted(asked, cohort)
        everybody = self._gathered(asked, cohort)
        if outlay is not None and self._ledger is not None:
            if len(everybody) != sum(part.size() for _, part in outlay.parts):
                raise TooFewReports(_MISSING)
            mixed = replace(outlay, reports=self._digest(asked, everybody))
            self._ledger.charge(mixed)  # nothing was promised as long as nothing could leave
        coins = KeystreamSource(derive_key(self._secret, b"order", asked.request_id))
        yield mixed_reports(everybody, coins)

    def flooded(self, question: FloodedQuestion, cohorts: Sequence[Cohort]) -> MixedFlood:
        """The messages of a flooded round, mixed; or, if too few people are there, none."""
        if not isinstance(self.behind, FloodedParties):
            raise InvalidParameter("these parties cannot be asked for flooded messages")
        asked = round_of(question, cohorts, self.behind.contributors)
        mixing = FloodMixing(asked, self.behind, self.promise, self._ledger)
        return mixing.released(
            lambda told: KeystreamSource(derive_key(self._secret, b"flooded order", told))
        )

    def request_for(self, request: Request, cohort: Cohort) -> Request:
        """What the parties are asked, under an identifier that nobody else can make; or a refusal."""
        if cohort.stop > self.people:
            raise UnknownIndex(f"the cohort ends at {cohort.stop}, but there are {self.people} people")
        text = request.question(self.schema).text
        name = derive_key(self._secret, b"request", request.digest(text), _cohort_digest(cohort))
        return replace(request, request_id=name, query=text, mixed=True)

    def _admitted(self, asked: Request, cohort: Cohort) -> Outlay | None:
        """What the request will cost people; refused, before anybody is asked, if that is not to be had."""
        if self.promise is None or self._ledger is None:
            return None
        sizes = [party.people for party in self._parties]
        parts = tuple((self._parties[place].name, part) for place, part in cohorts_by_party(cohort, sizes))
        hiding = self.promise.hiding((name, part.size()) for name, part in parts)
        self.promise.require(hiding, asked.randomizer)
        epsilon, delta = self.promise.cost(asked.randomizer)
        outlay = Outlay(asked.request_id, parts, epsilon, trillionths_above(delta))
        self._ledger.require(outlay)
        return outlay

    def _refuse_by_content(self) -> None:
        by_content = self.behind.by_content if isinstance(self.behind, KnownParties) else ()
        if by_content:
            raise PolicyRefused(
                f"party {by_content[0]!s:.128} answers by content: it would give the same reports about n people and about "
                "n - 1 of them, and their difference is one person's; no shuffler stands in front of such a party"
            )

    def _require_parties(self, promise: Promise) -> None:
        names = {party.name for party in self._parties}
        if not names or len(names) != len(self._parties):
            raise InvalidParameter("a shuffler with a promise knows its parties, each by a name of its own")
        operators = {operator_of(name) for name in names}
        if promise.colluding >= len(operators):
            raise InvalidParameter(
                f"{promise.colluding} of {len(operators)} parties may collude with the analyst: nobody could hide"
            )

    def _digest(self, asked: Request, everybody: Reports) -> bytes:
        """What tells these reports from others; it says nothing without the secret."""
        plain = hashlib.sha256(np.ascontiguousarray(everybody).data).digest()
        return derive_key(self._secret, b"reports", asked.request_id, plain)

    def _gathered(self, asked: Request, cohort: Cohort) -> Reports:
        try:
            return np.concatenate(list(self.behind.reports(asked, cohort)))
        except LocalDpError as error:
            # Without its text, which may say whose people it is about and how many of them.
            raise type(error)(_MISSING) from None


def _cohort_digest(cohort: Cohort) -> bytes:
    split = cohort.split
    numbers = (
        (cohort.start, cohort.stop)
        if split is None
        else (cohort.start, cohort.stop, split.parts, split.part)
    )
    return digest(b"" if split is None else split.seed, *(number.to_bytes(8, "big") for number in numbers))


def hidden_from(mixer: Mixer) -> str:
    """Against whom it is promised what holds behind this shuffler."""
    if isinstance(mixer, Shuffler):  # whoever runs it sees who sent what
        return "anybody but whoever runs this process, which is the shuffler as well,"
    return "the analyst and anybody else behind the shuffler"
