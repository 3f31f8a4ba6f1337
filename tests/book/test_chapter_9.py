"""Section 9.1: synthetic data that answer a hard query are either useless or somebody's records (Theorem 9.1)."""

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from localdp.randomness.hazmat import SeededSource
from localdp.randomness.source import uniform_bytes

PEOPLE = 40
Row = tuple[bytes, bytes]  # a message and its signature


def valid(row: Row, key: Ed25519PublicKey) -> bool:
    message, signature = row
    try:
        key.verify(signature, message)
    except InvalidSignature:
        return False
    return True


def test_who_makes_signed_rows_without_the_key_makes_none_that_count() -> None:
    source = SeededSource(1)
    key = Ed25519PrivateKey.from_private_bytes(uniform_bytes(source, 32))
    messages = [uniform_bytes(source, 8) for _ in range(PEOPLE)]
    rows: list[Row] = [(message, key.sign(message)) for message in messages]

    def share(table: list[Row]) -> float:
        return sum(valid(row, key.public_key()) for row in table) / len(table)

    assert share(rows) == 1.0  # a noisy count of this query is easy to release
    turned = [(message, rows[place - 1][1]) for place, (message, _) in enumerate(rows)]
    fresh = [(uniform_bytes(source, 8), uniform_bytes(source, 64)) for _ in range(PEOPLE)]
    changed = [(message, bytes([signature[0] ^ 1]) + signature[1:]) for message, signature in rows]
    assert share(turned) == share(fresh) == share(changed) == 0.0
    copied = rows[: PEOPLE // 2]
    assert share(copied) == 1.0 and set(copied) <= set(rows)  # what counts is a record
