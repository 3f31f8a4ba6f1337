"""The aggregator's side of a shuffler: an LR oracle that learns everybody's reports, and nothing about who sent them.

It talks to the shuffler alone and knows no party, nor how many people each of them has.

Checked in tests/contract/test_shuffler.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from localdp.accounting.epsilon import Epsilon
from localdp.cohorts import LARGEST_INDEX, Cohort
from localdp.errors import InvalidParameter, MalformedReport
from localdp.oracles.party import Request
from localdp.oracles.shuffler import Promise
from localdp.randomizers.definition import Reports
from parties import codec
from parties.coordinator import CALL_SECONDS, Channels, Reachable
from parties.identity import Identity
from parties.receiving import Reception
from parties.repeating import Patience, UnaryCall, answers
from parties.shuffler.service import TRILLION
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
        try:
            described = self._described()
            if described.name != peer.name or not 0 < described.people <= LARGEST_INDEX:
                raise InvalidParameter(f"{self._name} calls itself otherwise, or is out of bounds")
            self.people: int = described.people
            self.schema = codec.schema_from_wire(described.schema)
            self.promise = Promise(
                Epsilon(described.epsilon_nanonats), Fraction(described.delta_trillionths, TRILLION)
            )
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
            yield from self._received(request, cohort, call)
        finally:
            call.cancel()

    def _received(self, request: Request, cohort: Cohort, call: Reception) -> Iterator[Reports]:
        """Checked; how many people a random part has is known only to those who know the parties."""
        left = cohort.stop - cohort.start
        wrong = MalformedReport(f"{self._name} sent another number of reports than it was asked for")
        for message in call.messages():
            self.bytes_moved += len(message.packed)
            left -= message.reports
            if left < 0 or message.reports == 0:
                raise wrong  # at once: such a stream might have no end
            yield request.randomizer.unpack(message.packed, message.reports)
        if left and cohort.split is None:
            raise wrong

    def _described(self) -> Any:
        method, request = self._stub.DescribeShuffler, pb.DescribeShufflerRequest()
        call = UnaryCall(self._name, lambda seconds: method.future(request, timeout=seconds))
        return answers([call], self._timeout, self._channels.persistence)[0]
