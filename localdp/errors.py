"""Every error of the library, by name.

Few, typed, raised and never returned.  No message ever contains a private value: a message may name a column,
an index, a limit or a public parameter, but not what stands in a record.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager


class LocalDpError(Exception):
    """Anything that the library refuses or fails to do."""


def said_by(who: str, error: LocalDpError) -> LocalDpError:
    """The same error, with whoever said so in front: where several are asked, one wants to know which of them refused."""
    return type(error)(f"{who}: {error}")


class InvalidParameter(LocalDpError, ValueError):
    """A public parameter (an epsilon, a bound, a description) is not one the library accepts."""


class QueryRefused(LocalDpError):
    """A statistical query is malformed, ill-typed, over a bound, or over columns that do not exist."""


class InvalidRecord(LocalDpError):
    """A record does not belong to the domain that its schema declares."""


class UnknownIndex(LocalDpError, IndexError):
    """A request names a person that the party does not hold."""


class BudgetExhausted(LocalDpError):
    """Answering would spend more epsilon than a person's budget allows."""


class RequestExpired(LocalDpError):
    """The request is of an epoch that has ended, or what was sent for it is no longer kept."""


class KeyRetired(LocalDpError):
    """The key that a request was first answered with is gone, so its report cannot be given again."""


class PolicyRefused(LocalDpError):
    """The request is well formed, but the party's own policy says no."""


class ApprovalNeeded(PolicyRefused):
    """The question waits until the owner of the data has approved it; nothing was charged."""


class WorkRefused(LocalDpError):
    """Answering would take more work than the party allows, in this request or from this caller."""


class Busy(LocalDpError):
    """The party answers as much as it can at a time, or for this caller; nothing was begun."""


class CertificateRevoked(PolicyRefused):
    """The caller's certificate is good, but its authority has taken it back."""


class TooFewReports(LocalDpError):
    """A batch is below its minimum, so nothing may be released."""


class CollectionClosed(LocalDpError):
    """The collection was released already: it takes no more reports."""


class UnknownCollection(LocalDpError):
    """No collection of that identifier is known here."""


class ShareMismatch(LocalDpError):
    """The share servers do not hold shares of the same set of reports, or one of them answers what cannot be."""


class ComputationAborted(LocalDpError):
    """A check between share servers failed, so nothing was opened."""

    def __init__(self, text: str, check: str = "", suspects: tuple[int, ...] = ()) -> None:
        super().__init__(text)
        self.check = check  # which check failed; empty where only the text has travelled
        self.suspects = (
            suspects  # the servers of which one is dishonest, as far as whoever raises this can know
        )

    @classmethod
    def by(cls, check: str, suspects: tuple[int, ...]) -> "ComputationAborted":
        """The check that failed, and who may have made it fail."""
        who = " or ".join(f"server {server}" for server in suspects)
        return cls(f"{check}: {who} is dishonest or broken; nothing was opened", check, suspects)

    def among(self, servers: Sequence[str]) -> "ComputationAborted":
        """The same with the names of the servers in the place of their numbers."""

        def named(text: str) -> str:
            return re.sub(
                r"\bserver ([0-9]+)", lambda found: f"share server {servers[int(found[1])]}", text
            )

        return type(self)(named(str(self)), named(self.check), self.suspects)


class MalformedReport(LocalDpError):
    """A report or a share is of the wrong length or out of its range."""


class Unreachable(LocalDpError):
    """A party or a share server did not answer."""


class CannotListen(Unreachable):
    """A server's own address is taken, or not its to take."""


class DeadlineMissed(LocalDpError):
    """A party or a share server did not answer in time."""


class QuorumMissed(LocalDpError):
    """Too few people answered before a round's deadline, so there is no answer."""


class SignalTooWeak(LocalDpError):
    """The noise that is to be expected drowns what an algorithm looks for, so nothing is asked, or nothing more."""


class StorageFailed(LocalDpError):
    """The ledger could not be written, so nothing was answered."""


class RolledBack(StorageFailed):
    """A ledger lacks entries that were answered, as its mark or its witness knows: it is an old copy, or half of one."""


class CoinsExhausted(LocalDpError):
    """A scripted or bounded source of randomness has no more to give."""


@contextmanager
def requiring(what: str, extra: str) -> Iterator[None]:
    """While a library is imported that is not part of a plain installation: where it is missing, what to install."""
    try:
        yield
    except ImportError as error:
        raise InvalidParameter(f"{what}: pip install 'localdp[{extra}]'") from error
