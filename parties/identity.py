"""Who is who off loopback: a role's certificate, its key, and the authority that everybody was told to trust.

An identity is a directory with three files: certificate.pem, key.pem (readable by its owner alone) and authority.pem.
Connections are mutual: a server asks its callers for a certificate of the same authority, and knows them by the name in
it.  `make_authority` and `make_identity` write such directories for development and for small deployments; a consortium
with an authority of its own puts its own files there.

A role's name stands in its certificate twice: as the common name, by which a server knows its caller, and as the host
NAME.localdp.internal, by which a caller can insist on a role wherever it is reached (`role_host`): gRPC tells a client
that the server's certificate is for the host that it asked for, and nothing else about it.

An authority keeps a copy of each certificate that it gave out, so that it can take it back (parties/revocation_list.py).

Checked in tests/unit/parties/test_identity.py and tests/integration/test_tls.py.
"""

from __future__ import annotations

import datetime
import ipaddress
import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import grpc
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from localdp.errors import InvalidParameter
from localdp.party.policy import operator_of
from parties.durable import make_private_directory, require_private

CERTIFICATE, KEY, AUTHORITY = "certificate.pem", "key.pem", "authority.pem"
ISSUED = "issued"  # an authority's own copies of the certificates that it gave out, by serial number
VALID_DAYS = 365
_CLOCK_SKEW = datetime.timedelta(minutes=5)
_LONGEST_NAME = 64
_ROLE_SUFFIX = ".localdp.internal"
Context: TypeAlias = grpc.aio.ServicerContext[Any, Any]  # of a call of any service
_ROLE = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")


@dataclass(frozen=True, slots=True)
class Identity:
    """What one role shows to others, and whom it believes."""

    certificate: bytes
    key: bytes = field(repr=False)
    authority: bytes

    @property
    def name(self) -> str:
        """The name in the certificate."""
        return name_in(x509.load_pem_x509_certificate(self.certificate))

    def require_speaks_for(self, name: str) -> None:
        """Refuse to go about under a name that the certificate does not prove."""
        role_host(operator_of(name))  # or nobody could insist on it
        if not may_speak_for(self.name, name):
            raise InvalidParameter(
                f"the certificate is {self.name!r}'s, and cannot prove to others to be {name!r}"
            )

    def server_credentials(self) -> grpc.ServerCredentials:
        """TLS with callers' certificates required."""
        return grpc.ssl_server_credentials(
            [(self.key, self.certificate)], self.authority, require_client_auth=True
        )

    def channel_credentials(self) -> grpc.ChannelCredentials:
        """TLS that shows the own certificate."""
        return grpc.ssl_channel_credentials(self.authority, self.key, self.certificate)


def name_in(certificate: x509.Certificate) -> str:
    """The common name in a certificate; empty if it has none."""
    found = certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    return str(found[0].value) if found else ""


def load_identity(directory: Path) -> Identity:
    """The identity in a directory; a key that others can read is refused."""
    parts = {}
    for name in (CERTIFICATE, KEY, AUTHORITY):
        path = directory / name
        if not path.is_file():
            raise _no_identity(directory, name)
        parts[name] = path.read_bytes()
    require_private(directory / KEY)
    identity = Identity(parts[CERTIFICATE], parts[KEY], parts[AUTHORITY])
    _require_certificates(directory, identity)
    return identity


def _require_certificates(directory: Path, identity: Identity) -> None:
    for name, content in ((CERTIFICATE, identity.certificate), (AUTHORITY, identity.authority)):
        try:
            x509.load_pem_x509_certificate(content)
        except ValueError:
            raise InvalidParameter(f"{directory / name} is not a certificate in PEM") from None


def _no_identity(directory: Path, name: str) -> InvalidParameter:
    """Why a directory is none, and which one was meant, if that can be seen."""
    make = "make one with `localdp keys issue`"
    if not directory.exists():
        return InvalidParameter(f"there is no directory {directory}; {make}")
    if not directory.is_dir():
        return InvalidParameter(f"{directory} is no directory; an identity is one, with {name} in it")
    below = sorted(path.parent for path in directory.glob(f"*/{CERTIFICATE}"))
    if below:
        return InvalidParameter(
            f"{directory} has no {name}; name one of its directories, such as {below[0]}"
        )
    return InvalidParameter(f"{directory} has no {name}; {make}")


def peer_name(context: Context) -> str | None:
    """The name in the caller's certificate; None on a connection without one."""
    names = [*context.auth_context().get("x509_common_name", ())]
    return names[0].decode("utf-8", "replace") if names else None


def fingerprint_of(certificate: bytes) -> str:
    """SHA-256 of a certificate in PEM, in hexadecimal."""
    return x509.load_pem_x509_certificate(certificate).fingerprint(hashes.SHA256()).hex()


def peer_fingerprint(context: Context) -> str | None:
    """That of the caller's certificate; None on a connection without one."""
    shown = [*context.auth_context().get("x509_pem_cert", ())]
    return fingerprint_of(bytes(shown[0])) if shown else None


def may_speak_for(certified: str | None, party: str) -> bool:
    """Whether a caller may act as a party: under the name in its certificate, or that name, "/" and more.

    One agent can so speak for many parties.  A caller without a certificate, on loopback, is believed.
    """
    return certified is None or party == certified or party.startswith(f"{certified}/")


def role_host(name: str) -> str:
    """The host that stands for a role in its certificate."""
    if not _ROLE.fullmatch(name):
        raise InvalidParameter(
            "a role that is asked for by name has a name of lower-case letters, digits and hyphens"
        )
    return name + _ROLE_SUFFIX


def make_authority(directory: Path, name: str = "localdp development authority") -> None:
    """A new authority: its key stays in this directory, and should go nowhere else."""
    if (directory / KEY).exists():
        raise InvalidParameter(f"{directory} has an authority already; it is not overwritten")
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    certificate = (
        _unsigned(subject, subject, key.public_key())
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs_certificates=True), critical=True)
        .sign(key, hashes.SHA256())
    )
    make_private_directory(directory)
    _write_key(directory / KEY, key)
    (directory / AUTHORITY).write_bytes(certificate.public_bytes(serialization.Encoding.PEM))


def make_identity(
    authority: Path, directory: Path, name: str, hosts: tuple[str, ...] = ("localhost", "127.0.0.1")
) -> None:
    """A certificate for a role of that name, reachable at these hosts, signed by the authority."""
    if not 0 < len(name) <= _LONGEST_NAME or not name.isprintable() or "/" in name:
        # What follows a slash is for the parties behind one agent (parties/relay/service.py).
        raise InvalidParameter(f"a role's name has 1 to {_LONGEST_NAME} printable characters, and no '/'")
    if any(host.lower().rstrip(".").endswith(_ROLE_SUFFIX) for host in hosts):
        raise InvalidParameter(f"hosts that end in {_ROLE_SUFFIX} stand for roles: they are not given away")
    if (directory / KEY).exists():
        raise InvalidParameter(f"{directory} has an identity already; it is not overwritten")
    issuer, issuer_key = load_authority(authority)
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    both_ways = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
    certificate = (
        _unsigned(subject, issuer.subject, key.public_key())
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage(both_ways), critical=False)
        .add_extension(x509.SubjectAlternativeName(_alternatives(name, hosts)), critical=False)
        .sign(issuer_key, hashes.SHA256())
    )
    issued = certificate.public_bytes(serialization.Encoding.PEM)
    make_private_directory(authority / ISSUED)
    (authority / ISSUED / f"{certificate.serial_number:x}.pem").write_bytes(issued)  # to be revoked by
    make_private_directory(directory)
    _write_key(directory / KEY, key)
    (directory / CERTIFICATE).write_bytes(issued)
    (directory / AUTHORITY).write_bytes((authority / AUTHORITY).read_bytes())


def load_authority(directory: Path) -> tuple[x509.Certificate, ec.EllipticCurvePrivateKey]:
    """Certificate and key of an authority that `make_authority` made."""
    if not (directory / KEY).is_file():
        raise InvalidParameter(f"there is no authority in {directory}; make one with `localdp keys init`")
    certificate = x509.load_pem_x509_certificate((directory / AUTHORITY).read_bytes())
    key = serialization.load_pem_private_key((directory / KEY).read_bytes(), password=None)
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise InvalidParameter(f"{directory} is not an authority of this command's making")
    return certificate, key


def _unsigned(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey
) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _CLOCK_SKEW)
        .not_valid_after(now + datetime.timedelta(days=VALID_DAYS))
    )


def _usage(signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _alternatives(name: str, hosts: tuple[str, ...]) -> list[x509.GeneralName]:
    role = [role_host(name)] if _ROLE.fullmatch(name) else []
    return [_host(host) for host in (*hosts, *role)]


def _host(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _write_key(path: Path, key: ec.EllipticCurvePrivateKey) -> None:
    data = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(data)
