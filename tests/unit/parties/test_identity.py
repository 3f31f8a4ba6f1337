"""Certificates for development: issued by one authority, never overwritten, keys for their owner's eyes only."""

from pathlib import Path

import pytest
from cryptography import x509

from localdp.errors import InvalidParameter
from parties.identity import (
    AUTHORITY,
    CERTIFICATE,
    KEY,
    load_identity,
    make_authority,
    make_identity,
    role_host,
)


@pytest.fixture
def authority(tmp_path: Path) -> Path:
    make_authority(tmp_path / "authority")
    return tmp_path / "authority"


def test_an_identity_is_signed_by_its_authority_and_carries_its_name(
    authority: Path, tmp_path: Path
) -> None:
    make_identity(authority, tmp_path / "analyst", "analyst", ("localhost", "127.0.0.1", "agent.example"))
    identity = load_identity(tmp_path / "analyst")
    certificate = x509.load_pem_x509_certificate(identity.certificate)
    certificate.verify_directly_issued_by(x509.load_pem_x509_certificate(identity.authority))
    assert certificate.subject.rfc4514_string() == "CN=analyst"
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == [
        "localhost",
        "agent.example",
        "analyst.localdp.internal",
    ]


@pytest.mark.parametrize("directory", ["authority", "analyst"])
def test_keys_are_for_their_owner_alone(authority: Path, tmp_path: Path, directory: str) -> None:
    make_identity(authority, tmp_path / "analyst", "analyst")
    assert (tmp_path / directory / KEY).stat().st_mode & 0o777 == 0o600


def test_nothing_is_overwritten(authority: Path, tmp_path: Path) -> None:
    make_identity(authority, tmp_path / "analyst", "analyst")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.pem")}
    with pytest.raises(InvalidParameter, match="already"):
        make_authority(authority)
    with pytest.raises(InvalidParameter, match="already"):
        make_identity(authority, tmp_path / "analyst", "analyst")
    assert {path: path.read_bytes() for path in tmp_path.rglob("*.pem")} == before


@pytest.mark.parametrize("missing", [CERTIFICATE, KEY, AUTHORITY])
def test_an_incomplete_identity_is_refused(authority: Path, tmp_path: Path, missing: str) -> None:
    make_identity(authority, tmp_path / "analyst", "analyst")
    (tmp_path / "analyst" / missing).unlink()
    with pytest.raises(InvalidParameter, match=missing):
        load_identity(tmp_path / "analyst")


def test_a_key_that_others_can_read_is_refused(authority: Path, tmp_path: Path) -> None:
    make_identity(authority, tmp_path / "analyst", "analyst")
    (tmp_path / "analyst" / KEY).chmod(0o644)
    with pytest.raises(InvalidParameter, match="chmod 600"):
        load_identity(tmp_path / "analyst")


@pytest.mark.parametrize("name", ["", "x" * 65, "two\nlines", "../elsewhere", "north/ward"])
def test_a_name_is_short_and_printable_and_no_path(authority: Path, tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidParameter):
        make_identity(authority, tmp_path / "analyst", name)


@pytest.mark.parametrize(
    "host", ["analyst.localdp.internal", "*.LocalDP.internal", "analyst.localdp.internal."]
)
def test_nobody_is_given_the_host_that_stands_for_another_role(
    authority: Path, tmp_path: Path, host: str
) -> None:
    with pytest.raises(InvalidParameter, match="stand for roles"):
        make_identity(authority, tmp_path / "mallory", "mallory", ("localhost", host))


@pytest.mark.parametrize("name", ["", "two words", "Analyst", "a.b", "-a", "x" * 64])
def test_only_a_name_that_can_stand_for_a_host_can_be_asked_for(name: str) -> None:
    with pytest.raises(InvalidParameter, match="lower-case"):
        role_host(name)
