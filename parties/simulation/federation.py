"""Simulated parties over gRPC, in the shape that experiments use."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from localdp.domains import Records
from localdp.experiments.compare import Settings
from localdp.experiments.keyring import Keyring
from localdp.experiments.population import dealt
from parties.coordinator import RemoteParties
from parties.shares.collector import RemoteShareServers
from parties.shuffler.client import RemoteShuffler
from parties.simulation.launcher import Simulation


@dataclass(frozen=True, slots=True)
class RemoteFederation:
    """Parties and servers as processes of their own."""

    lr: RemoteParties
    share_servers: RemoteShareServers
    mixer: RemoteShuffler | None


@contextmanager
def over_grpc(records: Records, settings: Settings, keyring: Keyring) -> Iterator[RemoteFederation]:
    """Deal the people to agents, and start them, the share servers and the shuffler as processes on loopback."""
    with Simulation(
        dealt(records, settings.parties),
        budget=settings.budget(records.people),
        servers=settings.servers,
        keyring=keyring,
        largest_request=settings.largest_request(records.people),
        shuffler=settings.promise,
    ) as simulation:
        yield RemoteFederation(simulation.parties, simulation.shared, simulation.mixer)
