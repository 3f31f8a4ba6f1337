"""The witness that an agent's owner named, if there is one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from parties.agent.config import AgentConfig
from parties.agent.secret_file import FILE_NAME, SecretFile, load_secrets
from parties.coordinator import Peer
from parties.identity import load_identity
from parties.witness.client import RemoteWitness


@contextmanager
def witnessed(
    config: AgentConfig, otherwise: Callable[[Path], SecretFile] = load_secrets
) -> Iterator[RemoteWitness | None]:
    """The same for a while, by the keys of the state; where there are none, by others of the same agent."""
    if config.witness is None:
        yield None
        return
    keys = load_secrets if (config.storage / FILE_NAME).exists() else otherwise
    witness = witness_of(config, keys(config.storage))
    try:
        yield witness
    finally:
        if witness is not None:
            witness.close()


def witness_of(config: AgentConfig, secrets: SecretFile) -> RemoteWitness | None:
    """A client of the witness; it is closed by whoever asked for it."""
    if config.witness is None:
        return None
    peer = config.witness.peer
    return RemoteWitness(
        config.name,
        secrets.signer(),
        Peer(peer.name or "witness", peer.address),
        key=config.witness.public_key,
        identity=None if config.tls is None else load_identity(config.tls),
    )
