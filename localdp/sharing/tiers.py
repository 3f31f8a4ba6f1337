"""The two ways in which answers are shared and checked, behind one interface.

| tier | a party that lies can | what a report costs |
|---|---|---|
| additive | move a sum by anything; for parties that are trusted to be well formed | m field elements an entry |
| prio3 | do nothing but answer otherwise: a proof comes with every report | a proof, and one exchange among the servers |

Either way any servers but all of them see uniform shares (`additive_tier`, `prio3_tier`), and the steps are those of
Prio3:

    split     answers            ->  a row for each server                       (party)
    init      its rows           ->  state, verifier rows                        (each server)
    combine   all verifier rows  ->  messages, which reports hold                (the leader)
    finish    state, messages    ->  which reports this server accepts           (each server)
    sums      state, accepted    ->  its share of the sums of those reports      (each server)

Checked in tests/unit/sharing/test_tiers.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from localdp.errors import InvalidParameter
from localdp.randomness.source import RandomSource
from localdp.sharing.additive_tier import AdditiveTier
from localdp.sharing.blocks import CheckState, Mask, Octets, Rows
from localdp.sharing.collection import Collection
from localdp.sharing.prio3.batch.role import Tell
from localdp.sharing.prio3_tier import Prio3Tier

LARGEST_ROW_BYTES = 1 << 20  # of one report: it must fit into a message


class Checker(Protocol):
    """One server's side of the verification of blocks of reports."""

    def init(self, rows: Rows) -> tuple[CheckState, Octets]:
        """What the server keeps of a block, and what it tells the leader."""
        ...

    def combine(self, verifiers: Sequence[Octets]) -> tuple[Octets, Mask]:
        """From what all servers say, in order: a message for each report, and which reports hold."""
        ...

    def finish(self, state: CheckState, messages: Octets, holds: Mask) -> Mask:
        """Which reports this server accepts."""
        ...

    def sums(self, state: CheckState, accepted: Mask) -> list[int]:
        """Its share of the sums of the accepted reports: one field element for each entry."""
        ...


class Sharing(Protocol):
    """A tier, for one collection."""

    @property
    def public_bytes(self) -> int:
        """Length of a public row."""
        ...

    def input_bytes(self, server: int) -> int:
        """Length of a server's row."""
        ...

    @property
    def verifier_bytes(self) -> int:
        """Length of a verifier row."""
        ...

    @property
    def message_bytes(self) -> int:
        """Length of the leader's message about a report."""
        ...

    def split(self, values: NDArray[np.int64], source: RandomSource) -> list[Rows]:
        """Shares of answers, one row of entries each, for every server."""
        ...

    def prepare(self, tell: Tell) -> Callable[[], None] | None:
        """What a server may do beside everything else, to verify faster once it is done; it tells how far it is."""
        ...

    def checker(self, server: int, verify_key: bytes) -> Checker:
        """A server's side, given the key that all servers and no party know."""
        ...


def sharing_of(collection: Collection, reports: int | None = None) -> Sharing:
    """The tier of a collection, for whoever makes so many of its reports; refuses what would not fit into a message."""
    made: Sharing = (
        AdditiveTier(collection) if collection.tier == "additive" else Prio3Tier(collection, reports)
    )
    if max(made.input_bytes(server) for server in (0, 1)) > LARGEST_ROW_BYTES:
        raise InvalidParameter(f"a report of this encoding would take more than {LARGEST_ROW_BYTES} bytes")
    return made


def report_bytes(collection: Collection) -> int:
    """What a party uploads for one person, to all servers together."""
    sharing = sharing_of(collection)
    helpers = len(collection.servers) - 1
    inputs = sharing.input_bytes(0) + helpers * sharing.input_bytes(1)
    return inputs + len(collection.servers) * sharing.public_bytes


def people_per_block(collection: Collection) -> int:
    """How many consecutive people's rows fit into a message to any server."""
    sharing = sharing_of(collection)
    widest = sharing.public_bytes + max(sharing.input_bytes(0), sharing.input_bytes(1))
    return max(1, LARGEST_ROW_BYTES // widest)
