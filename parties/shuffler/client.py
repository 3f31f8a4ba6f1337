"""The aggregator's side of a shuffler: an LR oracle that learns everybody's reports, and nothing about who sent them.

It talks to the shuffler alone and knows no party, nor how many people each of them has.

Checked in tests/contract/test_shuffler.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.flood_plan import FloodPlan
from localdp.accounting.promise_ledger import TRILLION
from localdp.accounting.shuffling import FEWEST_PEOPLE
from localdp.cohorts import LARGEST_INDEX, Cohort
from localdp.errors import InvalidParameter, MalformedReport
from localdp.oracles.flood_mixing import MOST_FLOODED_BYTES, MixedFlood
from localdp.oracles.promise import MOST_REQUESTS, Promise
from localdp.party.party import Request
from localdp.randomizers.definition import Reports
from localdp.sharing.flooded_batch import Messages, message_bytes
from localdp.sharing.flooded_round import FloodedQuestion
from parties import codec
from parties.coordinator import CALL_SECONDS, Channels, Reachable
from parties.flood_asking import flood_seconds
from parties.flood_codec import question_to_wire, received
from parties.flood_opening import FloodAnalyst
from parties.identity import Identity
from parties.receiving import Piece, Reception
from parties.repeating import Begun, Patience, UnaryCall, answers
from parties.wire.v1 import shuffler_pb2 as pb
from parties.wire.v1 import shuffler_pb2_grpc

_Said = tuple[int, bytes, int]  # people, roster, messages in all
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
            self.samples: bool = described.samples
            self.schema = codec.schema_from_wire(described.schema)
            self.promise = _promise(described)
            self.second_key = bytes(described.second_key)
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

    def flooded(self, question: FloodedQuestion, cohorts: Sequence[Cohort]) -> MixedFlood:
        """The codes of a flooded round's messages: sealed to a key that is made for it, and opened here."""
        analyst = FloodAnalyst(question, second_key=self.second_key)
        return analyst.opened(self.sealed(analyst.question, cohorts))

    def sealed(self, question: FloodedQuestion, cohorts: Sequence[Cohort]) -> MixedFlood:
        """The messages themselves, for a question that has the keys that they are sealed to."""
        message = pb.ShuffleFloodedRequest(
            question=question_to_wire(question),
            cohorts=[codec.cohort_to_wire(cohort) for cohort in cohorts],
        )
        heard = set[_Said]()
        size = 2 * question.plan.size(question.plan.people)  # of one party; several take a little more
        call = Reception(
            lambda seconds: _Heard(self._stub.ShuffleFlooded(message, timeout=seconds), heard),
            self._name,
            (self._timeout + flood_seconds(size)) * (2 if self.second_key else 1),
            self._channels.persistence,
        )
        # Of a second shuffler they come without the outer seal; a second shuffler has them from the first with it.
        bytes_each = message_bytes(b"" if self.second_key else question.second_key)
        try:
            sealed = self._mixed(received(self._bounded(call), bytes_each), heard, question.plan)
        finally:
            call.cancel()
        self.bytes_moved += sealed.messages.nbytes
        return sealed

    def _bounded(self, call: Reception) -> Iterator[Piece]:
        """A stream that ends, or is refused where it should have."""
        left = MOST_FLOODED_BYTES
        for piece in call.messages():
            left -= len(piece.packed)
            if left < 0 or not piece.packed:
                raise MalformedReport(f"{self._name} sends more messages than a round has")
            yield piece

    def _mixed(self, sealed: Messages, heard: set[_Said], plan: FloodPlan) -> MixedFlood:
        """All messages, with what each response said of them alike."""
        if len(heard) != 1:
            raise MalformedReport(f"{self._name} does not say once whose messages these are")
        ((people, roster, count),) = heard
        if len(sealed) != count or not plan.honest <= people <= plan.people:
            raise MalformedReport(f"{self._name} sent other messages than it said, or of too few people")
        return MixedFlood(sealed, people, roster)

    def _described(self) -> pb.DescribeShufflerResponse:
        method, request = self._stub.DescribeShuffler, pb.DescribeShufflerRequest()
        call = UnaryCall(self._name, lambda seconds: method.future(request, timeout=seconds))
        told: pb.DescribeShufflerResponse = answers([call], self._timeout, self._channels.persistence)[0]
        return told


@dataclass(frozen=True, slots=True)
class _Heard:
    """A stream, and what its responses say beside messages."""

    stream: Begun
    said: set[_Said]

    def __iter__(self) -> Iterator[pb.ShuffleFloodedResponse]:
        for response in self.stream:
            self.said.add((response.people, response.roster, response.messages))
            yield response

    def cancel(self) -> None:
        """Stop waiting."""
        self.stream.cancel()


def _promise(described: pb.DescribeShufflerResponse) -> Promise:
    """What the shuffler says of itself; where it says nothing it has no limit."""
    return Promise(
        Epsilon(described.epsilon_nanonats),
        Fraction(described.delta_trillionths, TRILLION),
        described.colluding_parties,
        described.requests or MOST_REQUESTS,
        max(described.minimum_cohort, FEWEST_PEOPLE),
    )
