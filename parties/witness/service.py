"""A witness as a gRPC service around its record.

One worker thread owns the record: a disk that is slow does not hold up the network.  With TLS a caller speaks only for
its own party, in both methods: how many entries another ledger has is nobody's business.

Checked in tests/integration/test_witness.py.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from localdp.errors import InvalidParameter, PolicyRefused
from parties.admission import Door, Registry
from parties.identity import Context, may_speak_for, peer_name
from parties.observability.observer import Observer
from parties.revocation import Revocations
from parties.status import answering
from parties.wire.v1 import witness_pb2 as pb
from parties.wire.v1 import witness_pb2_grpc
from parties.witness.heads import NONCE_BYTES, latest_answer, public_key_of, require_party
from parties.witness.messages import countersigned_to_wire, step_from_wire
from parties.witness.record import WitnessRecord

SERVICE_NAME = pb.DESCRIPTOR.services_by_name["WitnessService"].full_name

_Result = TypeVar("_Result")


class WitnessService(witness_pb2_grpc.WitnessServiceServicer):
    """Serves one witness."""

    def __init__(
        self,
        record: WitnessRecord,
        *,
        keys: Mapping[str, bytes] | None = None,
        revocations: Revocations | None = None,
        observer: Observer | None = None,
    ) -> None:
        """`keys`: the parties that are taken, and their keys; None: anybody, by the key that it is first seen with."""
        self._record = record
        self._keys = keys
        self._observer = observer or Observer("witness", "witness")
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="witness")
        self.admit = Door(self._observer, revocations=revocations).admit

    def register(self, server: Registry) -> None:
        """Add the service to a server."""
        witness_pb2_grpc.add_WitnessServiceServicer_to_server(self, server)

    async def close(self) -> None:
        """Let go of the worker."""
        self._worker.shutdown(wait=True, cancel_futures=True)

    @answering
    async def Countersign(  # noqa: N802
        self, request: pb.CountersignRequest, context: Context
    ) -> pb.CountersignResponse:
        """Keep a head, and sign it."""
        with self._observer.call("Countersign", peer_name(context) or ""):
            self._require_own(request.head.party, context)
            step = step_from_wire(request)
            signed = step.signed
            if self._keys is not None and self._keys.get(signed.head.party) != signed.public_key:
                raise PolicyRefused("the witness does not take this party, or not by this key")
            countersigned = await self._work(lambda: self._record.countersign(step))
            return pb.CountersignResponse(countersigned=countersigned_to_wire(countersigned))

    @answering
    async def LatestHead(  # noqa: N802
        self, request: pb.LatestHeadRequest, context: Context
    ) -> pb.LatestHeadResponse:
        """The newest head on record."""
        with self._observer.call("LatestHead", peer_name(context) or ""):
            self._require_own(request.party, context)
            if len(request.nonce) != NONCE_BYTES:
                raise InvalidParameter(f"a nonce has {NONCE_BYTES} bytes")
            latest = await self._work(lambda: self._record.latest(request.party))
            signer = self._record.signer
            return pb.LatestHeadResponse(
                latest=None if latest is None else countersigned_to_wire(latest),
                witness_key=public_key_of(signer),
                signature=signer.sign(latest_answer(request.party, request.nonce, latest)),
            )

    def _require_own(self, party: str, context: Context) -> None:
        require_party(party)
        if not may_speak_for(peer_name(context), party):
            raise PolicyRefused("an agent speaks for the party that its certificate names")

    def _work(self, job: Callable[[], _Result]) -> asyncio.Future[_Result]:
        return asyncio.get_running_loop().run_in_executor(self._worker, job)
