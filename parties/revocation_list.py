"""The list of certificates that an authority took back: an X.509 certificate revocation list (RFC 5280, section 5).

The list names serial numbers, and is numbered itself: a later list has a larger number (section 5.2.3), so that an older
copy can be told from it.  It is signed by the authority, so it can be handed on by anybody.

**Deviation.**  Each entry carries the certificate's common name, too, in an extension of our own that others pass over
(`NAME_OF_REVOKED`, not critical).  An agent that dials its coordinator knows it by name alone: gRPC does not show a client
the certificate of its server.  And a list does not expire: its next update is due when the authority's certificate ends.

Checked in tests/unit/parties/test_revocation.py.
"""

from __future__ import annotations

import datetime
import fcntl
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

from localdp.errors import InvalidParameter
from parties.durable import write_atomically
from parties.identity import CERTIFICATE, ISSUED, load_authority, name_in

REVOKED = "revoked.pem"
NAME_OF_REVOKED = x509.ObjectIdentifier("2.25.141975205366713716411957146158842906021")
LARGEST_LIST_BYTES = 1 << 24
SIGNERS = ec.EllipticCurvePublicKey, rsa.RSAPublicKey, ed25519.Ed25519PublicKey


@dataclass(frozen=True, slots=True)
class RevokedCertificates:
    """What a list says."""

    number: int
    serials: frozenset[int]
    names: frozenset[str]  # of those, where the list tells


def read_list(data: bytes, authority: x509.Certificate) -> RevokedCertificates:
    """What a list says, if the authority signed it."""
    try:
        found = x509.load_pem_x509_crl(data)
        _require_signed(found, authority)
        names = frozenset(name for entry in found for name in _names(entry))
        return RevokedCertificates(_number(found), frozenset(entry.serial_number for entry in found), names)
    except InvalidParameter:
        raise
    except (ValueError, x509.ExtensionNotFound) as error:
        raise InvalidParameter(
            f"this is not a numbered list of revoked certificates in PEM ({type(error).__name__})"
        ) from None


def _require_signed(found: x509.CertificateRevocationList, authority: x509.Certificate) -> None:
    key = authority.public_key()
    if not isinstance(key, SIGNERS) or found.issuer != authority.subject:
        raise InvalidParameter("the list of revoked certificates is of another authority")
    if not found.is_signature_valid(key):
        raise InvalidParameter("the list of revoked certificates is not signed by the authority")


def revoke(directory: Path, name: str) -> RevokedCertificates:
    """Take back every certificate of that name that the authority of the directory gave out; returns the new list."""
    authority, key = load_authority(directory / "authority")
    path = directory / "authority" / REVOKED
    given_out = list(_certificates_of(directory, name, authority))
    if not given_out:
        raise InvalidParameter(
            f"the authority in {directory} has given nobody named {name!r} a certificate"
        )
    with _alone(path.parent):
        made = _extended(_before(path, authority), given_out, authority, key)
        data = made.public_bytes(serialization.Encoding.PEM)
        write_atomically(path, data, synced=True)
    return read_list(data, authority)


def _before(path: Path, authority: x509.Certificate) -> x509.CertificateRevocationList | None:
    """The list as it stands: one that is not the authority's own is not gone on with."""
    if not path.exists():
        return None
    read_list(path.read_bytes(), authority)
    return x509.load_pem_x509_crl(path.read_bytes())


@contextmanager
def _alone(directory: Path) -> Iterator[None]:
    """One process at a time, or of two revocations one would be lost."""
    handle = os.open(directory, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        raise InvalidParameter(f"another process is revoking certificates of {directory}") from None
    finally:
        os.close(handle)


def _extended(
    before: x509.CertificateRevocationList | None,
    certificates: Iterable[x509.Certificate],
    authority: x509.Certificate,
    key: ec.EllipticCurvePrivateKey,
) -> x509.CertificateRevocationList:
    """The next list: what stood in the one before, and these."""
    now = datetime.datetime.now(datetime.UTC)
    entries = {} if before is None else {entry.serial_number: entry for entry in before}
    for certificate in certificates:
        entries.setdefault(certificate.serial_number, _entry(certificate, now))
    number = 1 if before is None else 1 + _number(before)
    builder = (
        x509.CertificateRevocationListBuilder()
        .issuer_name(authority.subject)
        .last_update(now)
        .next_update(max(authority.not_valid_after_utc, now + datetime.timedelta(days=1)))
        .add_extension(x509.CRLNumber(number), critical=False)
    )
    for serial in sorted(entries):
        builder = builder.add_revoked_certificate(entries[serial])
    return builder.sign(key, hashes.SHA256())


def _entry(certificate: x509.Certificate, now: datetime.datetime) -> x509.RevokedCertificate:
    name = x509.UnrecognizedExtension(NAME_OF_REVOKED, name_in(certificate).encode())
    return (
        x509.RevokedCertificateBuilder()
        .serial_number(certificate.serial_number)
        .revocation_date(now)
        .add_extension(name, critical=False)
        .build()
    )


def _number(found: x509.CertificateRevocationList) -> int:
    return found.extensions.get_extension_for_class(x509.CRLNumber).value.crl_number


def _names(entry: x509.RevokedCertificate) -> Iterable[str]:
    for extension in entry.extensions:
        if extension.oid == NAME_OF_REVOKED and isinstance(extension.value, x509.UnrecognizedExtension):
            yield extension.value.value.decode("utf-8", "replace")


def _certificates_of(directory: Path, name: str, authority: x509.Certificate) -> Iterable[x509.Certificate]:
    """The authority's own copies, and what lies beside it: directories that an older version made have no copies."""
    known = [*(directory / "authority" / ISSUED).glob("*.pem"), *directory.glob(f"*/{CERTIFICATE}")]
    for path in sorted(known):
        certificate = x509.load_pem_x509_certificate(path.read_bytes())
        if name_in(certificate) == name and certificate.issuer == authority.subject:
            yield certificate
