"""HPKE: the RFC's own numbers, and the library's implementation on the other side."""

import pytest
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hpke as library
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from localdp.sharing import hpke

SUITE = library.Suite(library.KEM.X25519, library.KDF.HKDF_SHA256, library.AEAD.AES_128_GCM)
KEY = X25519PrivateKey.from_private_bytes(bytes(range(32)))
# RFC 9180, appendix A.1.1.
INFO = bytes.fromhex("4f6465206f6e2061204772656369616e2055726e")
FRESH = X25519PrivateKey.from_private_bytes(
    bytes.fromhex("52c4a758a802cd8b936eceea314432798d5baf2d7e9235dc084ab1b9cfa2f736")
)
RECEIVER = X25519PrivateKey.from_private_bytes(
    bytes.fromhex("4612c550263fc8ad58375df3f557aac531d26850903e55a9f23f21d8534e8ac8")
)
SHARED = "fe0e18c9f024ce43799ae393c7e8fe8fce9d218875e8227b0187c04e7d2ea1fc"
FIRST = ("4531685d41d65f03dc48f6b8302c05b0", "56d890e5accaaf011cff4b7d")


def test_secret_key_and_nonce_are_those_of_the_rfc() -> None:
    public = FRESH.public_key().public_bytes_raw()
    shared = hpke._shared(FRESH.exchange(RECEIVER.public_key()), public, RECEIVER.public_key())
    assert shared.hex() == SHARED
    key, nonce = hpke.key_schedule(shared, INFO)
    assert (key.hex(), nonce.hex()) == FIRST


@pytest.mark.parametrize("data", [b"", b"shares", bytes(1 << 16)], ids=["nothing", "short", "long"])
@pytest.mark.parametrize("info", [b"", b"a place"])
def test_the_library_opens_what_is_sealed_and_the_other_way_round(data: bytes, info: bytes) -> None:
    assert SUITE.decrypt(hpke.seal(KEY.public_key(), data, info), KEY, info=info) == data
    assert hpke.opened(KEY, SUITE.encrypt(data, KEY.public_key(), info=info), info) == data


def test_two_seals_of_the_same_data_have_nothing_in_common() -> None:
    one, other = (hpke.seal(KEY.public_key(), b"shares", b"") for _ in range(2))
    assert one[:32] != other[:32] and one[32:] != other[32:]


def test_under_another_info_or_key_nothing_opens() -> None:
    sealed = hpke.seal(KEY.public_key(), b"shares", b"here")
    with pytest.raises(InvalidTag):
        hpke.opened(KEY, sealed, b"there")
    with pytest.raises(InvalidTag):
        hpke.opened(RECEIVER, sealed, b"here")


@pytest.mark.parametrize("point", [bytes(32), b"\x01" + bytes(31)], ids=["zero", "one"])
def test_a_point_of_small_order_is_refused(point: bytes) -> None:
    with pytest.raises(ValueError, match="shared key"):
        hpke.opened(KEY, point + bytes(32), b"")
