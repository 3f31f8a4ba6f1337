"""An agent's side of its witness: what the witness knows of the ledger, and a countersignature for a new head.

    witness = RemoteWitness.at("127.0.0.1:7200#5f1c...", "north", signer, "witness", identity)
    last = witness.latest()                                      # at the start; it has to be in the ledger's chain
    witness.countersign(Head("north", entries, link), last)      # after a charge is on disk, before its answer leaves

Calls wait, for a bounded number of seconds in all, and are sent again if the witness was away: both may be repeated.
What comes back is checked: the head is the agent's own, by its own signature, and both answers are signed by the witness's
key, if its owner pinned one.  An answer of earlier is not taken for one of now, because it has to quote a fresh nonce.

Checked in tests/integration/test_witness.py.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from localdp.errors import InvalidParameter, LocalDpError, RolledBack, said_by
from parties.coordinator import Channels, Peer, Reachable
from parties.identity import Identity
from parties.repeating import Patience, UnaryCall, answers
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
    ) -> None:
        """`key`: the only one whose signatures are believed.  `timeout_seconds`: of a call, with its repetitions."""
        self._party, self._signer, self._key = party, signer, key
        self._name = f"witness {peer.name}"
        self._timeout = timeout_seconds
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
            self._require_pinned(told.witness_key)
            latest = countersigned_from_wire(told.latest) if told.HasField("latest") else None
            answer = latest_answer(self._party, nonce, latest)
            require_signature(told.witness_key, told.signature, answer, "the witness's")
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
        self._require_pinned(countersigned.witness_key)
        if countersigned.signed.public_key != public_key_of(self._signer):
            raise RolledBack(
                "it knows this party by another key than that of secrets.json as it is now: put this agent's keys back. "
                "If its owner gave them up and declared the loss, the witness's operator runs "
                f"`localdp witness forget --state DIR {self._party}`"
            )
        if countersigned.signed.head.party != self._party:
            raise InvalidParameter("it answers about another party")
        return countersigned.signed.head

    def _require_pinned(self, key: bytes) -> None:
        if self._key not in (None, key):
            raise InvalidParameter("it has another key than the one that was pinned")

    def _answer(self, method: Any, request: Any) -> Any:
        call = UnaryCall(self._name, lambda seconds: method.future(request, timeout=seconds))
        return answers([call], self._timeout, self._channels.persistence)[0]

    @contextmanager
    def _named(self) -> Iterator[None]:
        """Whatever is wrong with an answer, with the name of whoever gave it."""
        try:
            yield
        except LocalDpError as error:
            raise said_by(self._name, error) from None
