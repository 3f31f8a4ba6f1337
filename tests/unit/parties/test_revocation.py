"""Lists of revoked certificates: signed, numbered, re-read when they change, and never replaced by worse ones."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from localdp.errors import CertificateRevoked, InvalidParameter
from parties.identity import CERTIFICATE, ISSUED, load_identity, make_authority, make_identity
from parties.relay.context import RelayedContext
from parties.revocation import Revocations
from parties.revocation_list import REVOKED, RevokedCertificates, read_list, revoke
from tests.unit.parties.observability.test_observability import lines, logged

NAMES = ("analyst", "mallory", "north")


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    make_authority(tmp_path / "keys" / "authority")
    for name in NAMES:
        make_identity(tmp_path / "keys" / "authority", tmp_path / "keys" / name, name)
    return tmp_path / "keys"


class Shown:
    """A call over TLS: the caller's certificate as gRPC shows it."""

    def __init__(self, directory: Path) -> None:
        self._pem = (directory / CERTIFICATE).read_bytes()

    def auth_context(self) -> dict[str, list[bytes]]:
        return {"x509_common_name": [b"whatever"], "x509_pem_cert": [self._pem]}


def serial(directory: Path) -> int:
    return x509.load_pem_x509_certificate((directory / CERTIFICATE).read_bytes()).serial_number


def authority_of(keys: Path) -> x509.Certificate:
    return x509.load_pem_x509_certificate(load_identity(keys / "north").authority)


def listed(keys: Path) -> RevokedCertificates:
    return read_list((keys / "authority" / REVOKED).read_bytes(), authority_of(keys))


def watching(keys: Path, kind: type[Revocations] = Revocations) -> tuple[Revocations, Path]:
    """A server's view of a copy of the list."""
    copy = keys / "copy.pem"
    shutil.copy(keys / "authority" / REVOKED, copy)
    return kind(copy, load_identity(keys / "north").authority), copy


def is_refused(revocations: Revocations, context: Any) -> bool:
    try:
        revocations.require_not_revoked(context)
    except CertificateRevoked:
        return True
    return False


def renewed(copy: Path, content: bytes) -> None:
    """Put another file in place, as a careful operator does."""
    (copy.parent / "next").write_bytes(content)
    os.replace(copy.parent / "next", copy)


# The list.


def test_a_list_grows_and_its_number_with_it(keys: Path) -> None:
    assert revoke(keys, "mallory") == RevokedCertificates(
        1, frozenset({serial(keys / "mallory")}), frozenset({"mallory"})
    )
    made = revoke(keys, "analyst")
    assert made.number == 2 and made.names == {"analyst", "mallory"}
    assert made.serials == {serial(keys / name) for name in ("analyst", "mallory")}
    assert listed(keys) == made
    again = revoke(keys, "analyst")
    assert (again.number, again.serials) == (3, made.serials)


def test_every_certificate_of_the_name_is_revoked_also_one_that_was_carried_away(keys: Path) -> None:
    first = serial(keys / "mallory")
    shutil.rmtree(keys / "mallory")
    make_identity(keys / "authority", keys / "mallory", "mallory")
    assert revoke(keys, "mallory").serials == {first, serial(keys / "mallory")}


def test_a_directory_of_before_has_no_copies_and_what_lies_in_it_is_revoked(keys: Path) -> None:
    shutil.rmtree(keys / "authority" / ISSUED)
    assert revoke(keys, "mallory").serials == {serial(keys / "mallory")}


def test_nobody_and_no_authority_are_told(keys: Path, tmp_path: Path) -> None:
    with pytest.raises(InvalidParameter, match="nobody named 'eve'"):
        revoke(keys, "eve")
    with pytest.raises(InvalidParameter, match="no authority"):
        revoke(tmp_path / "elsewhere", "mallory")
    assert not (keys / "authority" / REVOKED).exists()


def test_a_list_of_another_authority_is_not_gone_on_with(keys: Path, tmp_path: Path) -> None:
    make_authority(tmp_path / "others" / "authority")
    make_identity(tmp_path / "others" / "authority", tmp_path / "others" / "mallory", "mallory")
    revoke(tmp_path / "others", "mallory")
    foreign = (tmp_path / "others" / "authority" / REVOKED).read_bytes()
    (keys / "authority" / REVOKED).write_bytes(foreign)
    with pytest.raises(InvalidParameter, match="signed"):
        revoke(keys, "mallory")
    assert (keys / "authority" / REVOKED).read_bytes() == foreign


def test_other_tools_read_the_list_too(keys: Path, tmp_path: Path) -> None:
    revoke(keys, "mallory")
    openssl = shutil.which("openssl")
    assert openssl is not None
    authority = keys / "authority" / "authority.pem"
    arguments = [openssl, "crl", "-in", str(keys / "authority" / REVOKED), "-noout", "-text", "-CAfile"]
    done = subprocess.run(
        [*arguments, str(authority)], capture_output=True, text=True, check=False, timeout=20
    )
    assert done.returncode == 0 and "verify OK" in done.stdout + done.stderr
    assert f"{serial(keys / 'mallory'):X}" in done.stdout.replace(":", "")


# What a server makes of it.


class ReadsOnce(Revocations):
    """Knows what was revoked when it started."""

    @property
    def current(self) -> RevokedCertificates:
        return self._current


class BelievesAnyList(Revocations):
    """Takes whatever the authority has ever signed."""

    def _take(self, stamp: Any) -> None:
        self._stamp, self._current = stamp, self._read()


def refusals_in_turn(keys: Path, kind: type[Revocations]) -> list[bool]:
    """Whether the analyst is refused: before it is revoked, on the old copy, on the new one, and on the old one again."""
    revoke(keys, "mallory")
    revocations, copy = watching(keys, kind)
    analyst, old, refused = Shown(keys / "analyst"), copy.read_bytes(), list[bool]()
    refused.append(is_refused(revocations, analyst))
    revoke(keys, "analyst")
    refused.append(is_refused(revocations, analyst))
    for content in ((keys / "authority" / REVOKED).read_bytes(), old):
        renewed(copy, content)
        refused.append(is_refused(revocations, analyst))
    return refused


def test_a_revoked_certificate_is_refused_from_the_next_call_on_and_for_good(keys: Path) -> None:
    assert refusals_in_turn(keys, Revocations) == [False, False, True, True]


@pytest.mark.parametrize("twin", [ReadsOnce, BelievesAnyList])
def test_a_server_that_reads_once_or_believes_any_list_is_caught(
    keys: Path, twin: type[Revocations]
) -> None:
    assert refusals_in_turn(keys, twin) != [False, False, True, True]


def test_a_new_certificate_of_the_same_name_is_not_refused(keys: Path) -> None:
    revoke(keys, "mallory")
    shutil.rmtree(keys / "mallory")
    make_identity(keys / "authority", keys / "mallory", "mallory")
    assert not is_refused(watching(keys)[0], Shown(keys / "mallory"))


def test_over_a_relay_a_name_is_refused_and_on_loopback_nobody(keys: Path) -> None:
    revoke(keys, "mallory")
    revocations, _ = watching(keys)
    callers = ("mallory", "analyst", None)
    assert [is_refused(revocations, RelayedContext(name, None)) for name in callers] == [True, False, False]


def test_the_old_list_a_forged_one_and_none_leave_the_last_good_one_in_use(
    keys: Path, tmp_path: Path
) -> None:
    revoke(keys, "mallory")
    old = (keys / "authority" / REVOKED).read_bytes()
    revoke(keys, "analyst")
    revocations, copy = watching(keys)
    make_authority(tmp_path / "others" / "authority", "localdp development authority")
    make_identity(tmp_path / "others" / "authority", tmp_path / "others" / "eve", "eve")
    for _ in range(5):
        revoke(tmp_path / "others", "eve")  # a later number, under the same name of the authority
    forged = (tmp_path / "others" / "authority" / REVOKED).read_bytes()
    analyst = Shown(keys / "analyst")
    for content, why in (
        (old, "older"),
        (forged, "unreadable"),
        (b"", "unreadable"),
        (b"x" * 99, "unreadable"),
    ):
        with logged("warning") as stream:
            renewed(copy, content)
            assert is_refused(revocations, analyst)
            assert is_refused(revocations, analyst)  # and it is told once
        (line,) = lines(stream)
        assert (line["event"], line["why"], line["number"]) == ("revocations_kept", why, 2)
    copy.unlink()
    assert is_refused(revocations, analyst)


def test_another_list_of_the_same_number_is_not_taken(keys: Path, tmp_path: Path) -> None:
    revoke(keys, "mallory")
    revocations, copy = watching(keys)
    (keys / "authority" / REVOKED).unlink()
    assert revoke(keys, "analyst").number == 1
    renewed(copy, (keys / "authority" / REVOKED).read_bytes())
    assert is_refused(revocations, Shown(keys / "mallory"))
    assert not is_refused(revocations, Shown(keys / "analyst"))


@pytest.mark.parametrize("content", [None, b"", b"garbage", "certificate"])
def test_at_the_start_a_list_that_is_not_good_is_an_error(keys: Path, content: bytes | str | None) -> None:
    path = keys / "copy.pem"
    if content == "certificate":
        path.write_bytes(authority_of(keys).public_bytes(Encoding.PEM))
    elif isinstance(content, bytes):
        path.write_bytes(content)
    with pytest.raises(InvalidParameter):
        Revocations(path, load_identity(keys / "north").authority)


def test_a_check_costs_tens_of_microseconds(keys: Path) -> None:
    revoke(keys, "mallory")
    revocations, _ = watching(keys)
    context: Any = Shown(keys / "analyst")
    best = min(_seconds(revocations, context) for _ in range(5))
    assert best < 1e-4  # about 5e-6 on an idle machine


def _seconds(revocations: Revocations, context: Any) -> float:
    began = time.perf_counter()
    for _ in range(200):
        revocations.require_not_revoked(context)
    return (time.perf_counter() - began) / 200
