"""What the operator of a share server allows, whatever collectors and parties agree on.

Checked in tests/unit/sharing/test_server_policy.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast, get_args

from localdp.errors import InvalidParameter, PolicyRefused
from localdp.sharing.collection import Collection
from localdp.sharing.encoding import EncodingKind

MOST_OPEN = 10_000


def kinds_of(names: Sequence[str]) -> frozenset[EncodingKind]:
    """Kinds of collections by their names."""
    known = get_args(EncodingKind)
    if unknown := [name for name in names if name not in known]:
        raise InvalidParameter(f"a kind of collection is one of {', '.join(known)}, and not {unknown[0]}")
    return frozenset(cast("EncodingKind", name) for name in names)


@dataclass(frozen=True, slots=True)
class ServerPolicy:
    """Limits of one server."""

    minimum_batch: int = 1  # reports: collections that would be released below are refused
    kinds: frozenset[EncodingKind] | None = None  # what may be collected; None: everything
    most_open: int = MOST_OPEN  # collections in progress
    most_bytes: int | None = None  # of what collections in progress take together (`Task.bytes_held`)
    longest_seconds: float | None = None  # from the opening of a collection to its end
    relayed: bool = False  # collections whose shares somebody carries, against whom no minimum batch helps

    def require(self, collection: Collection, now: float, opened: int) -> None:
        """Refuse a collection that the operator does not want, or not beside so many others."""
        ends = collection.binding.ends
        if ends <= now:
            raise InvalidParameter("the collection has ended before it began: look at the clocks")
        if self.longest_seconds is not None and ends > now + self.longest_seconds:
            raise PolicyRefused(
                f"collections at this share server end within {self.longest_seconds:.0f} seconds"
            )
        if self.kinds is not None and collection.encoding.kind not in self.kinds:
            raise PolicyRefused(
                f"this share server collects {', '.join(sorted(self.kinds))} and nothing else"
            )
        if collection.relayed and not self.relayed:
            raise PolicyRefused(
                "this share server takes shares from the parties themselves: have them upload, or its operator"
                " allow relayed collections"
            )
        if collection.minimum_batch < self.minimum_batch:
            raise PolicyRefused(
                f"this share server releases batches of at least {self.minimum_batch} reports: ask for that minimum"
            )
        if opened >= self.most_open:
            raise PolicyRefused(
                f"this share server has {self.most_open} collections in progress: release some, or wait for their end"
            )

    def require_room(self, wanted: int) -> None:
        """Refuse what there is no room for, if collections in progress would take so much with it."""
        if self.most_bytes is not None and wanted > self.most_bytes:
            raise PolicyRefused(
                "this share server has no room for more: try again when reports were decided, or collections released"
            )
