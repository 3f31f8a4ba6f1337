"""A party's secret keys on disk: made once, readable by their owner alone, rotated without losing the old ones.

The file is JSON: the name of the current key, all keys by name in hexadecimal, and the key that signs exports of the
ledger, from which the key of its chain is derived.  Losing it means that the ledger cannot be opened (restore a backup,
`parties.agent.backup`); it costs no privacy.  Leaking it does: whoever has a key can undo the coins of every report drawn
with it.

Checked in tests/unit/parties/agent/test_secret_file.py.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from localdp.errors import InvalidParameter
from localdp.party.secrets import SECRET_BYTES, Secrets
from localdp.randomness.keys import derive_key
from parties.durable import make_private_directory, require_private, written_whole

FILE_NAME = "secrets.json"


@dataclass(frozen=True, slots=True)
class SecretFile:
    """What stands in the file."""

    secrets: Secrets
    signing: bytes = field(repr=False)

    @property
    def chain_key(self) -> bytes:
        """The key of the ledger's chain and of its mark; no rotation changes it."""
        return derive_key(self.signing, b"ledger chain")

    def signer(self) -> Ed25519PrivateKey:
        """The key that signs exports of the ledger."""
        return Ed25519PrivateKey.from_private_bytes(self.signing)


def make_secrets(directory: Path) -> SecretFile:
    """New keys from the operating system; existing ones are never overwritten."""
    path = directory / FILE_NAME
    if path.exists():
        raise InvalidParameter(f"{path} exists already; it is not overwritten")
    make_private_directory(directory)
    made = _file_of("key-1", {"key-1": os.urandom(SECRET_BYTES)}, os.urandom(32))
    _write(path, made)
    return made


def load_secrets(directory: Path) -> SecretFile:
    """The keys of a party; a file that others can read is refused."""
    path = directory / FILE_NAME
    if not path.is_file():
        if any(directory.glob("ledger.*")):
            raise InvalidParameter(
                f"{path} does not exist, and without it the ledger beside it cannot be opened: put it back, or run "
                "`localdp agent restore`"
            )
        raise InvalidParameter(f"{path} does not exist; make it with `localdp agent init`")
    require_private(path)
    try:
        data = json.loads(path.read_text())
        keys = {str(name): bytes.fromhex(key) for name, key in data["keys"].items()}
        return _file_of(data["current"], keys, bytes.fromhex(data["signing"]))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        # Without the text: it could quote a key.
        raise InvalidParameter(f"{path} is not a file of secret keys ({type(error).__name__})") from None


def rotate_secrets(directory: Path) -> SecretFile:
    """A new key for new requests; the old ones stay, for requests that were answered with them."""
    old = load_secrets(directory)
    name = f"key-{1 + max(_number(name) for name in old.secrets.keys)}"
    rotated = _file_of(name, {**old.secrets.keys, name: os.urandom(SECRET_BYTES)}, old.signing)
    _write(directory / FILE_NAME, rotated)
    return rotated


def _file_of(current: str, keys: dict[str, bytes], signing: bytes) -> SecretFile:
    """Records are pinned by a key that no rotation changes."""
    return SecretFile(Secrets(current, keys, derive_key(signing, b"pin of records")), signing)


def _number(name: str) -> int:
    digits = name.rpartition("-")[2]
    return int(digits) if digits.isdigit() else 0


def _write(path: Path, content: SecretFile) -> None:
    """Whole or not at all, and synced: half a file of keys would be worse than none."""
    data = {
        "current": content.secrets.current,
        "keys": {name: key.hex() for name, key in content.secrets.keys.items()},
        "signing": content.signing.hex(),
    }
    # Synced, or a power cut could bring the file of before back, without a key that is in use.
    with written_whole(path, part=path.with_suffix(".part")) as file:
        file.write(json.dumps(data, indent=2).encode())
