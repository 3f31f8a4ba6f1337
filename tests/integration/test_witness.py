"""A witness over gRPC: heads, refusals, restarts, certificates, and answers that are not what they should be."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from localdp.errors import (
    CertificateRevoked,
    InvalidParameter,
    PolicyRefused,
    RolledBack,
    Unreachable,
)
from parties.coordinator import Peer
from parties.identity import Identity, load_identity, make_authority, make_identity
from parties.repeating import Patience
from parties.revocation import Revocations
from parties.revocation_list import REVOKED, revoke
from parties.wire.v1 import witness_pb2 as pb
from parties.witness import client as module
from parties.witness.client import RemoteWitness
from parties.witness.heads import Head, Witness, public_key_of
from parties.witness.record import WitnessRecord
from parties.witness.service import SERVICE_NAME, WitnessService
from tests.support.federations import Loopback, loopback
from tests.support.ledgers import Clock

KEYS = {name: Ed25519PrivateKey.from_private_bytes(name.encode().ljust(32)) for name in ("north", "south")}
ONCE = Patience(attempts=1)


def head(entries: int, party: str = "north", fork: int = 0) -> Head:
    return Head(party, entries, bytes([fork, entries % 256]) * 16)


@contextmanager
def witness_at(
    state: Path, service: type[WitnessService] = WitnessService, **options: Any
) -> Iterator[tuple[Peer, bytes]]:
    """A witness on loopback, and its key."""
    identity: Identity | None = options.pop("identity", None)
    with ExitStack() as stack:
        record = stack.enter_context(closing(WitnessRecord(state, new=not state.exists())))
        threads: Loopback = stack.enter_context(loopback())
        address = threads.serve(SERVICE_NAME, service(record, **options), identity=identity)
        yield Peer("witness", address), public_key_of(record.signer)


def client(peer: Peer, party: str = "north", **options: Any) -> closing[RemoteWitness]:
    signer = options.pop("signer", KEYS.get(party))
    return closing(RemoteWitness(party, signer, peer, timeout_seconds=10, patience=ONCE, **options))


def test_two_agents_have_a_witness_and_it_remembers_over_a_restart(tmp_path: Path) -> None:
    with (
        witness_at(tmp_path / "w") as (peer, key),
        client(peer, key=key) as north,
        client(peer, "south", key=key) as south,
    ):
        known: Witness = north
        assert known.latest() is None
        for entries, last in ((1, None), (2, head(1)), (7, head(2))):
            north.countersign(head(entries), last)
        south.countersign(head(3, "south"), None)
        north.countersign(head(7), head(2))  # again: the answer may have been lost
    with witness_at(tmp_path / "w") as (peer, again):
        assert again == key
        with client(peer, key=key) as north, client(peer, "south", key=key) as south:
            assert (north.latest(), south.latest()) == (head(7), head(3, "south"))


def test_an_older_ledger_and_another_one_are_refused(tmp_path: Path) -> None:
    with witness_at(tmp_path / "w") as (peer, key), client(peer, key=key) as north:
        north.countersign(head(7), None)
        with pytest.raises(RolledBack, match=r"witness witness: .* 7 entries"):
            north.countersign(head(6), head(5))
        with pytest.raises(RolledBack, match="not these 7"):
            north.countersign(head(7, fork=1), head(6))
        with pytest.raises(RolledBack, match="another head, of 7 entries"):
            north.countersign(head(8, fork=1), head(6))
        assert north.latest() == head(7)


def test_an_agent_with_other_secrets_is_another_agent(tmp_path: Path) -> None:
    with witness_at(tmp_path / "w") as (peer, key):
        with client(peer, key=key) as north:
            north.countersign(head(7), None)
        with client(peer, key=key, signer=KEYS["south"]) as impostor:
            with pytest.raises(PolicyRefused, match="another key"):
                impostor.countersign(head(8), None)
            with pytest.raises(RolledBack, match="another key"):
                impostor.latest()


def test_a_witness_whose_operator_named_the_parties_takes_no_others(tmp_path: Path) -> None:
    keys = {"north": public_key_of(KEYS["north"])}
    with witness_at(tmp_path / "w", keys=keys) as (peer, _):
        with client(peer) as north:
            north.countersign(head(1), None)
        for party, signer in (("south", KEYS["south"]), ("north", KEYS["south"])):
            with (
                client(peer, party, signer=signer) as other,
                pytest.raises(PolicyRefused, match="not take"),
            ):
                other.countersign(head(2, party), None)


def test_a_witness_that_is_away_or_is_not_the_pinned_one_is_told(tmp_path: Path) -> None:
    with client(Peer("witness", "127.0.0.1:1")) as north:
        with pytest.raises(Unreachable, match="witness witness"):
            north.latest()
        with pytest.raises(Unreachable):
            north.countersign(head(1), None)
    with witness_at(tmp_path / "w") as (peer, _), client(peer, key=bytes(32)) as north:
        with pytest.raises(InvalidParameter, match=r"witness witness: .*pinned"):
            north.latest()
        with pytest.raises(InvalidParameter, match="pinned"):
            north.countersign(head(1), None)


class Hangs(WitnessService):
    """Takes what it is given, and never answers."""

    async def Countersign(self, request: Any, context: Any) -> Any:  # noqa: N802
        await asyncio.sleep(30)


def test_a_witness_that_hangs_is_waited_for_briefly_and_then_left_alone_for_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PROMPT_SECONDS", 0.3)
    clock = Clock()
    with witness_at(tmp_path / "w", Hangs) as (peer, key), client(peer, key=key, clock=clock) as north:
        assert north.latest() is None
        began = time.monotonic()
        with pytest.raises(Unreachable, match="in time"):
            north.countersign(head(1), None)
        assert 0.2 < time.monotonic() - began < 5  # and not 10
        for ask in (north.latest, lambda: north.countersign(head(1), None)):
            with pytest.raises(Unreachable, match="did not answer"):
                ask()
        clock.now += module.PAUSE_SECONDS
        assert north.latest() is None


# Witnesses that lie.


class ForgetsInAnswers(WitnessService):
    """Says that there is none, over the signature of another answer."""

    async def LatestHead(self, request: Any, context: Any) -> Any:  # noqa: N802
        told = await super().LatestHead(request, context)
        told.ClearField("latest")
        return told


class Replays(WitnessService):
    """Gives the first answer for ever."""

    first: Any = None

    async def LatestHead(self, request: Any, context: Any) -> Any:  # noqa: N802
        self.first = self.first or await super().LatestHead(request, context)
        return self.first


class Inflates(WitnessService):
    """Claims a head that the agent never signed."""

    async def LatestHead(self, request: Any, context: Any) -> Any:  # noqa: N802
        told = await super().LatestHead(request, context)
        told.latest.head.entries += 1
        return told


class SaysYes(WitnessService):
    """Countersigns nothing, and says so of everything."""

    async def Countersign(self, request: Any, context: Any) -> Any:  # noqa: N802
        return pb.CountersignResponse(countersigned=pb.CountersignedHead(head=request.head))


class BeginsAnew(WitnessService):
    """Has another key in every answer, each of which is a good one."""

    async def LatestHead(self, request: Any, context: Any) -> Any:  # noqa: N802
        self._record.signer = Ed25519PrivateKey.generate()
        return await super().LatestHead(request, context)


def test_a_witness_has_the_key_that_it_shows_first(tmp_path: Path) -> None:
    with witness_at(tmp_path / "w") as (peer, key), client(peer) as north:
        assert (north.key, north.named) == (None, False)
        north.countersign(head(1), None)
        assert (north.key, north.named) == (key, False)
        assert north.latest() == head(1)
    with witness_at(tmp_path / "anew", BeginsAnew) as (peer, _), client(peer) as north:
        assert north.latest() is None
        with pytest.raises(InvalidParameter, match="pinned"):
            north.latest()


@pytest.mark.parametrize("liar", [ForgetsInAnswers, Replays, Inflates, SaysYes])
def test_an_answer_that_the_witness_did_not_sign_for_this_question_is_not_believed(
    tmp_path: Path, liar: type[WitnessService]
) -> None:
    with witness_at(tmp_path / "w") as (peer, key), client(peer, key=key) as north:
        north.countersign(head(1), None)
    with (
        witness_at(tmp_path / "w", liar) as (peer, key),
        client(peer, key=key) as north,
        pytest.raises(InvalidParameter, match="signature"),
    ):
        go_on(north)


def go_on(north: RemoteWitness) -> None:
    """What an agent does: it starts, charges, and starts again."""
    assert north.latest() == head(1)
    north.countersign(head(2), head(1))
    north.latest()


def test_a_witness_that_does_not_lie_is_believed(tmp_path: Path) -> None:
    with witness_at(tmp_path / "w") as (peer, key), client(peer, key=key) as north:
        north.countersign(head(1), None)
        go_on(north)


# Certificates.


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("keys")
    make_authority(directory / "authority")
    for name in ("north", "south", "witness", "eve"):
        make_identity(directory / "authority", directory / name, name)
    revoke(directory, "eve")
    return directory


def test_with_certificates_a_caller_speaks_for_its_own_party_alone(tmp_path: Path, keys: Path) -> None:
    known = {name: load_identity(keys / name) for name in ("north", "south", "witness", "eve")}
    revocations = Revocations(keys / "authority" / REVOKED, known["witness"].authority)
    with witness_at(tmp_path / "w", identity=known["witness"], revocations=revocations) as (peer, key):
        with client(peer, key=key, identity=known["north"]) as north:
            north.countersign(head(1), None)
            assert north.latest() == head(1)
        with client(peer, key=key, identity=known["south"]) as south:  # as north, with north's own key
            with pytest.raises(PolicyRefused, match="certificate names"):
                south.countersign(head(2), head(1))
            with pytest.raises(PolicyRefused, match="certificate names"):
                south.latest()
        with client(peer, "south/ward", signer=KEYS["south"], identity=known["south"]) as ward:
            ward.countersign(head(1, "south/ward"), None)
        with client(peer, identity=known["eve"]) as eve, pytest.raises(CertificateRevoked):
            eve.latest()
        impostor = Peer("north", peer.address)  # whoever insists on another role does not talk to this one
        with client(impostor, identity=known["north"]) as north, pytest.raises(Unreachable):
            north.latest()


@pytest.mark.parametrize(
    "request_",
    [
        pb.LatestHeadRequest(party="north"),
        pb.LatestHeadRequest(party="", nonce=bytes(32)),
        pb.LatestHeadRequest(party="x" * 200, nonce=bytes(32)),
        pb.CountersignRequest(),
        pb.CountersignRequest(head=pb.SignedHead(party="north", entries=1 << 63, link=bytes(32))),
        pb.CountersignRequest(head=pb.SignedHead(party="north", link=bytes(32), public_key=bytes(32))),
    ],
    ids=str,
)
def test_what_is_out_of_bounds_is_refused(tmp_path: Path, request_: Any) -> None:
    name = "LatestHead" if isinstance(request_, pb.LatestHeadRequest) else "Countersign"
    with witness_at(tmp_path / "w") as (peer, _), grpc.insecure_channel(peer.address) as channel:
        raw: Any = channel.unary_unary(f"/{SERVICE_NAME}/{name}")
        with pytest.raises(grpc.RpcError) as caught:
            raw(request_.SerializeToString(), timeout=10)
        assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
