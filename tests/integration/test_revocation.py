"""A certificate is revoked while its holder is connected: the next call is refused, without a restart."""

from __future__ import annotations

import shutil
from contextlib import closing
from pathlib import Path

import pytest

from localdp.cohorts import Cohort
from localdp.errors import CertificateRevoked, InvalidParameter
from parties.admission import Door
from parties.agent.service import SERVICE_NAME, AgentService
from parties.coordinator import Peer, RemoteParties
from parties.identity import load_identity, make_authority, make_identity
from parties.observability.observer import Observer
from parties.relay.server import RelayServer
from parties.revocation import Revocations
from parties.revocation_list import revoke
from tests.support.agents import failed, succeeded
from tests.support.federations import loopback, party, people, request
from tests.support.relays import PATIENCE_SECONDS, attaching


class Revoking(AgentService):
    """An agent that is told of a list."""

    def __init__(self, path: Path, authority: bytes) -> None:
        observer = Observer("agent", "party-0")
        door = Door(observer, revocations=Revocations(path, authority))
        super().__init__(party(people(4)), {}, observer=observer, door=door)


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    make_authority(tmp_path / "keys/authority")
    for name in ("analyst", "mallory", "party-0", "eve"):
        make_identity(tmp_path / "keys/authority", tmp_path / "keys" / name, name)
    assert revoke(tmp_path / "keys", "eve").number == 1
    shutil.copy(tmp_path / "keys/authority/revoked.pem", tmp_path / "copy.pem")
    return tmp_path / "keys"


def reports(parties: RemoteParties, number: int) -> int:
    return sum(len(part) for part in parties.reports(request(number), Cohort(0, 4)))


def test_the_next_call_on_the_same_connection_is_refused_and_others_go_on(keys: Path) -> None:
    known = {name: load_identity(keys / name) for name in ("analyst", "mallory", "party-0")}
    copy = keys.parent / "copy.pem"
    with loopback() as threads:
        service = Revoking(copy, known["party-0"].authority)
        peer = Peer("party-0", threads.serve(SERVICE_NAME, service, identity=known["party-0"]))
        with (
            closing(RemoteParties([peer], 20, known["analyst"])) as analyst,
            closing(RemoteParties([peer], 20, known["mallory"])) as mallory,
        ):
            assert reports(analyst, 1) == reports(mallory, 2) == 4
            old = copy.read_bytes()
            told = succeeded(keys.parent, "keys", "revoke", "keys", "mallory")
            assert (told["number"], told["revoked"]) == (2, 2)
            shutil.copy(keys.parent / told["list"], copy)
            with pytest.raises(CertificateRevoked):
                reports(mallory, 3)
            assert reports(analyst, 4) == 4
            copy.write_bytes(old)  # an older list is not believed
            with pytest.raises(CertificateRevoked):
                reports(mallory, 5)
            with pytest.raises(CertificateRevoked):  # nor does a new connection help
                RemoteParties([peer], 20, known["mallory"])
            assert reports(analyst, 6) == 4


def test_an_agent_that_dials_refuses_a_coordinator_of_a_revoked_name(keys: Path) -> None:
    analyst, own = load_identity(keys / "analyst"), load_identity(keys / "party-0")
    copy = keys.parent / "copy.pem"
    with attaching() as agents, RelayServer(identity=analyst) as relay:
        agents.add(Revoking(copy, own.authority), "party-0", relay.address, own, "analyst")
        relay.wait_for(["party-0"], PATIENCE_SECONDS)
        with closing(relay.parties()) as parties:
            assert reports(parties, 1) == 4
            revoke(keys, "analyst")
            shutil.copy(keys / "authority/revoked.pem", copy)
            with pytest.raises(CertificateRevoked):
                reports(parties, 2)


def test_the_command_says_whom_it_does_not_know(keys: Path) -> None:
    told = failed(keys.parent, "keys", "revoke", "keys", "nobody")
    assert told["error_code"] == "invalid_parameter" and "nobody" in told["message"]
    with pytest.raises(InvalidParameter):
        Revocations(keys.parent / "none.pem", load_identity(keys / "party-0").authority)
