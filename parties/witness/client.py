"""An agent's side of its witness: what the witness knows of the ledger, and a countersignature for a new head.

    witness = RemoteWitness.at("127.0.0.1:7200#5f1c...", "north", signer, "witness", identity)
    last = witness.latest()                                      # at the start; it has to be in the ledger's chain
    witness.countersign(Head("north", entries, link), last)      # after a charge is on disk, before its answer leaves

Calls wait, for a bounded number of seconds in all, and are sent again if the witness was away: both may be repeated.  An
agent that waits answers nobody: once the witness has been reached, it is waited for briefly (`PROMPT_SECONDS`), and if it
does not answer, not asked again for a while (`PAUSE_SECONDS`); until then calls fail at once.

What comes back is checked: the head is the agent's own, by its own signature, and both answers are signed by one key: the
one that the owner pinned, or the one that was seen first.  An answer of earlier is not taken for one of now, because it has
to quote a fresh nonce.

Checked in tests/integration/test_witness.py.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from google.protobuf.message import Message

from localdp.errors import (
    Busy,
    DeadlineMissed,
    InvalidParameter,
    LocalDpError,
    RolledBack,
    Unreachable,
    said_by,
)
from parties.coordinator import Channels, Peer, Reachable
from parties.identity import Identity
from parties.repeating import Patience, Response, Stub, UnaryCall, answers
from parties.shares.peers import SharePeer
from parties.wire.v1 import witness_pb2 as pb
from parties.wire.v1 import witness_pb2_grpc
from parties.witness.heads import (
    NONCE_BYTES,
    CountersignedHead,
    Head,
    latest_answer,
    public_key_of,
    require_signature,
    sign_step,
)
from parties.witness.messages import countersigned_from_wire, step_to_wire

CALL_SECONDS = 10.0
PROMPT_SECONDS, PAUSE_SECONDS = 1.0, 3.0


class RemoteWitness:
    """A witness over its channel, for the agent of one party."""

    def __init__(
        self,
        party: str,
        signer: Ed25519PrivateKey,
        peer: Reachable,
        *,
        key: bytes | None = None,
        identity: Identity | None = None,
        timeout_seconds: float = CALL_SECONDS,
        patience: Patience | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`key`: the only one whose signatures are believed.  `timeout_seconds`: of the first call, with repetitions."""
        self._party, self._signer = party, signer
        self.key, self.named = key, key is not None
        self._name = f"witness {peer.name}"
        self._timeout, self._clock = timeout_seconds, clock
        self._quiet_until = -math.inf
        self._channels = Channels([peer], identity, patience)
        self._stub = witness_pb2_grpc.WitnessServiceStub(self._channels.channels[0])

    @classmethod
    def at(
        cls, place: str, party: str, signer: Ed25519PrivateKey, name: str, identity: Identity | None = None
    ) -> RemoteWitness:
        """The witness of that name at HOST:PORT or HOST:PORT#KEY, as `localdp witness run` prints it."""
        found = SharePeer.parse(place)
        return cls(party, signer, Peer(name, found.address), key=found.key, identity=identity)

    def close(self) -> None:
        """Close the channel."""
        self._channels.close()

    def latest(self) -> Head | None:
        """The newest head that the witness knows."""
        nonce = os.urandom(NONCE_BYTES)
        told = self._answer(self._stub.LatestHead, pb.LatestHeadRequest(party=self._party, nonce=nonce))
        with self._named():
            latest = countersigned_from_wire(told.latest) if told.HasField("latest") else None
            answer = latest_answer(self._party, nonce, latest)
            require_signature(told.witness_key, told.signature, answer, "the witness's")
            self._believe(told.witness_key)
            return None if latest is None else self._own(latest)

    def countersign(self, head: Head, after: Head | None) -> None:
        """Return when the witness has this head on record, in place of the one after which it comes."""
        request = step_to_wire(sign_step(head, after, self._signer))
        told = self._answer(self._stub.Countersign, request)
        with self._named():
            if self._own(countersigned_from_wire(told.countersigned)) != head:
                raise InvalidParameter("it countersigned another head than it was given")

    def _own(self, countersigned: CountersignedHead) -> Head:
        """The head, if the agent itself has signed it, and its witness."""
        self._believe(countersigned.witness_key)
        if countersigned.signed.public_key != public_key_of(self._signer):
            raise RolledBack(
                "it knows this party by another key than that of secrets.json as it is now: put this agent's keys back. "
                "If its owner gave them up and declared the loss, the witness's operator runs "
                f"`localdp witness forget --state DIR {self._party}`"
            )
        if countersigned.signed.head.party != self._party:
            raise InvalidParameter("it answers about another party")
        return countersigned.signed.head

    def _believe(self, key: bytes) -> None:
        """Take a good signature of this key for the witness's: of the pinned one, or of the first."""
        if self.key not in (None, key):
            raise InvalidParameter("it has another key than the one that was pinned")
        self.key = key

    def _answer(self, method: Stub, request: Message) -> Response:
        if self._clock() < self._quiet_until:
            raise Unreachable(f"{self._name} did not answer a moment ago; try again")
        call = UnaryCall(self._name, lambda seconds: method.future(request, timeout=seconds))
        try:
            told = answers([call], self._timeout, self._channels.persistence)[0]
        except (Unreachable, Busy, DeadlineMissed) as error:
            self._quiet_until = self._clock() + PAUSE_SECONDS
            if isinstance(error, DeadlineMissed):  # the witness's, and not that of whoever asks the agent
                raise Unreachable(f"{self._name} did not answer in time") from None
            raise
        self._timeout = min(self._timeout, PROMPT_SECONDS)
        return told

    @contextmanager
    def _named(self) -> Iterator[None]:
        """Whatever is wrong with an answer, with the name of whoever gave it."""
        try:
            yield
        except LocalDpError as error:
            raise said_by(self._name, error) from None
