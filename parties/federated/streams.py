"""A stream is begun, or gone on with, from its journal.

Checked in tests/unit/parties/streams/test_stream.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from localdp.accounting.epsilon import Epsilon
from localdp.errors import InvalidParameter
from localdp.oracles.definition import StatisticalQueryOracle
from localdp.oracles.models import Options, Parties
from localdp.randomness.keystream import KeystreamSource
from localdp.randomness.source import RandomSource
from localdp.sharing.binding import Binding
from parties.federated.watching import WatchedShares
from parties.streams.journal import StreamJournal, journal_there
from parties.streams.stream import CountedStream, Make
from parties.streams.terms import StreamTerms, Wanted


class MakeOracle(Protocol):
    """Makes the oracle of a trust model, with public identifiers that are drawn from a given source."""

    def __call__(
        self,
        model: str,
        epsilon: Epsilon | None,
        options: Options,
        identifiers: RandomSource,
        around: Callable[[Parties], Parties],
    ) -> StatisticalQueryOracle: ...


@dataclass(frozen=True, slots=True)
class BoundShares(WatchedShares):
    """Share servers whose collections are bound as the journal has it, so that one that broke off is the same one."""

    journal: StreamJournal | None = None

    def bind(self, collection_id: bytes) -> Binding:
        """As it was, or as the servers are now."""
        assert self.journal is not None
        known = self.journal.bound(collection_id)
        return known or self.journal.bind(collection_id, self.behind.bind(collection_id))


def open_stream(
    path: Path, wanted: Wanted | None, parties: Mapping[str, int], made: MakeOracle
) -> CountedStream:
    """A new stream, or the one of the journal, if it is of these parties and of what is wanted."""
    journal = journal_there(path) if wanted is None else StreamJournal(path)
    try:
        terms = journal.terms() if wanted is None else _terms(wanted, parties, journal, made)
        if terms is None:
            raise InvalidParameter(f"{path}: the stream has not begun: say what is counted")
        journal.begin(replace(terms, parties=tuple(parties.items())))
    except BaseException:
        journal.close()
        raise
    return CountedStream(
        terms, journal, _make(terms.model, terms.spends, dict(terms.options), journal, made)
    )


def _terms(
    wanted: Wanted, parties: Mapping[str, int], journal: StreamJournal, made: MakeOracle
) -> StreamTerms:
    known = journal.terms()
    if known is not None and wanted.layout == "best":
        wanted = replace(wanted, layout=known.layout)
    make = _make(wanted.model, wanted.epsilon, wanted.options, journal, made)
    return wanted.terms(make(KeystreamSource.from_system()), parties)


def _make(
    model: str,
    epsilon: Epsilon | None,
    options: Options,
    journal: StreamJournal,
    made: MakeOracle,
) -> Make:
    """Makes the oracle of a step: identifiers are public and follow from the journal; no noise does."""

    def around(parties: Parties) -> Parties:
        watched = parties.share_servers
        if not isinstance(watched, WatchedShares):
            return parties
        # Rounds of others that broke off are not this stream's to go on with.
        return replace(
            parties, share_servers=BoundShares(watched.behind, watched.spending, journal=journal), broken={}
        )

    return lambda identifiers: made(model, epsilon, options, identifiers, around)
