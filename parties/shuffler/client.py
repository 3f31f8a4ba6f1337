"""The aggregator's side of a shuffler: an LR oracle that learns everybody's reports, and nothing about who sent them.

It talks to the shuffler alone and knows no party, nor how many people each of them has.

Checked in tests/contract/test_shuffler.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.promise_ledger import TRILLION
from localdp.accounting.shuffling import FEWEST_PEOPLE
from localdp.cohorts import LARGEST_INDEX, Cohort
from localdp.errors import InvalidParameter
from localdp.oracles.promise import MOST_REQUESTS, Promise
from localdp.party.party import Request
from localdp.randomizers.definition import Reports
from parties import codec
from parties.coordinator import CALL_SECONDS, Channels, Reachable
from parties.identity import Identity
from parties.receiving import Reception
from parties.repeating import Patience, UnaryCall, answers
from parties.wire.v1 import shuffler_pb2 as pb
from parties.wire.v1 import shuffler_pb2_grpc

SHUFFLE_SECONDS = 2 * CALL_SECONDS  # the shuffler's own calls, and the way back


class RemoteShuffler:
    """A shuffler over its channel."""

    def __init__(
        self,
        peer: Reachable,
        timeout_seconds: float = SHUFFLE_SECONDS,
        identity: Identity | None = None,
        patience: Patience | None = None,
    ) -> None:
        """`timeout_seconds` is what one call may take, with all of its repetitions."""
        self._name = f"shuffler {peer.name}"
        self._channels = Channels([peer], identity, patience)
        self._stub = shuffler_pb2_grpc.ShufflerServiceStub(self._channels.channels[0])
        self._timeout = timeout_seconds
        self.bytes_moved = 0
        self.by_row = False  # a shuffler refuses parties whose every row answers
        try:
            described = self._described()
            if described.name != peer.name or not 0 < described.people <= LARGEST_INDEX:
                raise InvalidParameter(f"{self._name} calls itself otherwise, or is out of bounds")
            self.people: int = described.people
            self.schema = codec.schema_from_wire(described.schema)
            self.promise = _promise(described)
            self.hiding: int = described.hiding_people or described.people
            if self.hiding > self.people:
                raise InvalidParameter(f"{self._name} has more people to hide among than there are")
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the channel."""
        self._channels.close()

    def reports(self, request: Request, cohort: Cohort) -> Iterator[Reports]:
        """The reports of the cohort, mixed."""
        message = pb.ShuffleRequest(request=codec.request_to_wire(request, cohort))
        call = Reception(
            lambda seconds: self._stub.Shuffle(message, timeout=seconds),
            self._name,
            self._timeout,
            self._channels.persistence,
        )
        try:
            # How many people a random part has is known only to those who know the parties.
            for piece in call.counted(cohort.stop - cohort.start, all_of_them=cohort.split is None):
                self.bytes_moved += len(piece.packed)
                yield request.randomizer.unpack(piece.packed, piece.reports)
        finally:
            call.cancel()

    def _described(self) -> pb.DescribeShufflerResponse:
        method, request = self._stub.DescribeShuffler, pb.DescribeShufflerRequest()
        call = UnaryCall(self._name, lambda seconds: method.future(request, timeout=seconds))
        told: pb.DescribeShufflerResponse = answers([call], self._timeout, self._channels.persistence)[0]
        return told


def _promise(described: pb.DescribeShufflerResponse) -> Promise:
    """What the shuffler says of itself; where it says nothing it has no limit."""
    return Promise(
        Epsilon(described.epsilon_nanonats),
        Fraction(described.delta_trillionths, TRILLION),
        described.colluding_parties,
        described.requests or MOST_REQUESTS,
        max(described.minimum_cohort, FEWEST_PEOPLE),
    )
