"""Which servers stood in the way of reports: what one server can know, for its errors, its log and its metrics.

| what a server sees | what it knows |
|---|---|
| another server has not got reports that this one has | that server lost them, or its party sent none there |
| a proof holds, and another server refuses the report | that server lies, or a party showed it another public share |
| the leader tells a server that it said what it did not say | the leader lies |
| an answer that cannot be: of another length, about another set, of another collection | that server lies, or is broken |
| without proofs, a server refuses a report | its party sent elements that are not reduced, or that server lies |
| a proof does not hold | the report is false, or a server sent a wrong verifier share: nobody can tell which |

Checked in tests/unit/sharing/test_bound_servers.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from localdp.errors import LocalDpError, ShareMismatch
from localdp.sharing.blocks import Mask, Positions


class Blame:
    """What one server has against the others, in one collection."""

    def __init__(self, people: int, *, proved: bool) -> None:
        """`proved`: the reports come with proofs."""
        self._people = people
        self._proved = proved
        self._lacking: dict[str, Mask] = {}  # reports that a server has not got
        self.refusing: Counter[str] = Counter()  # reports that it refuses although they hold
        self.lying: set[str] = set()
        self.wrong: dict[str, str] = {}  # why the last answer of a server that was refused was
        self.unproved = 0
        self.unread = 0

    def lacks(self, server: str, positions: Positions, lacking: Mask) -> None:
        """Which of these reports a server has not got; the last word about each report counts."""
        if server not in self._lacking and lacking.any():
            self._lacking[server] = np.zeros(self._people, np.bool_)
        if server in self._lacking:
            self._lacking[server][positions] = lacking

    def refused(self, server: str, reports: Mask) -> None:
        """A server refuses these reports, which others accept: without proofs that is nothing against it."""
        if self._proved and (count := int(np.count_nonzero(reports))):
            self.refusing[server] += count

    def misquoted(self, server: str) -> None:
        """A server changed what another one said."""
        self.lying.add(server)

    def proofs(self, holds: Mask) -> None:
        """Of some reports the proof does not hold."""
        self.unproved += len(holds) - int(np.count_nonzero(holds))

    def decided(self, accepted: Mask) -> None:
        """Some reports do not count: without proofs, because somebody could not read them."""
        if not self._proved:
            self.unread += len(accepted) - int(np.count_nonzero(accepted))

    @property
    def servers(self) -> dict[str, str]:
        """What there is against each server."""
        told: dict[str, list[str]] = {server: ["changed what others said"] for server in sorted(self.lying)}
        for server, why in sorted(self.wrong.items()):
            told.setdefault(server, []).append(f"answers wrongly: {why}")
        for server, count in sorted(self.refusing.items()):
            told.setdefault(server, []).append(
                f"refused {count} reports whose proofs hold: it lies, or their party showed it another public share"
            )
        for server, lacking in sorted(self._lacking.items()):
            if count := int(np.count_nonzero(lacking)):
                told.setdefault(server, []).append(
                    f"has not got {count} reports that others have: it lost them, or their party sent none there"
                )
        return {server: " and ".join(reasons) for server, reasons in told.items()}

    @property
    def text(self) -> str:
        """All of it, to be put behind an error; empty if there is nothing."""
        told = [f"share server {server} {reason}" for server, reason in self.servers.items()]
        if self.unproved:
            told.append(
                f"the proofs of {self.unproved} reports do not hold: they are false, or a share server sent wrong shares"
            )
        if self.unread:
            told.append(
                f"{self.unread} reports could not be read: a party sent elements that are not reduced, or a share"
                " server lies"
            )
        return "".join(f"; {one}" for one in told)


@contextmanager
def answer_of(server: str, blame: Blame | None = None) -> Iterator[None]:
    """Around whatever reads an answer of a server: what is refused in it is refused with the server's name, and noted."""
    try:
        yield
    except LocalDpError as error:
        if blame is not None:
            blame.wrong[server] = str(error)
        raise ShareMismatch(f"share server {server} answers wrongly: {error}") from None
