"""Certificates for development: issued by one authority, never overwritten, keys for their owner's eyes only."""

from pathlib import Path

import pytest
from cryptography import x509

from localdp.errors import InvalidParameter
from parties.coordinator import Peer
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


@pytest.mark.parametrize("directory", ["authority", "keys", "keys/analyst"])
def test_new_directories_are_for_their_owner_alone(authority: Path, tmp_path: Path, directory: str) -> None:
    make_identity(authority, tmp_path / "keys" / "analyst", "analyst")
    assert (tmp_path / directory).stat().st_mode & 0o777 == 0o700


def test_a_directory_that_was_there_keeps_its_mode(tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared").chmod(0o750)
    make_authority(tmp_path / "shared")
    assert (tmp_path / "shared").stat().st_mode & 0o777 == 0o750


def test_a_directory_that_is_no_identity_is_told_with_the_one_that_may_be_meant(
    authority: Path, tmp_path: Path
) -> None:
    make_identity(authority, tmp_path / "analyst", "analyst")
    for directory, words in (
        (tmp_path / "nobody", f"there is no directory {tmp_path / 'nobody'}; make one with"),
        (tmp_path, f"one of its directories, such as {tmp_path / 'analyst'}"),
        (tmp_path / "analyst" / KEY, "is no directory"),
        (authority, f"{authority} has no {CERTIFICATE}; make one with"),
    ):
        with pytest.raises(InvalidParameter) as refused:
            load_identity(directory)
        assert words in str(refused.value)


@pytest.mark.parametrize("name", ["Clinic", "clinic_a", "clinic.example", "/x", ""])
def test_with_certificates_nobody_is_dialled_whose_name_no_certificate_can_prove(
    authority: Path, tmp_path: Path, name: str
) -> None:
    make_identity(authority, tmp_path / "analyst", "analyst", ("127.0.0.1",))
    identity = load_identity(tmp_path / "analyst")
    with pytest.raises(InvalidParameter, match="lower-case letters"):
        Peer(name, "127.0.0.1:7000").open(identity)
    with pytest.raises(InvalidParameter):
        identity.require_speaks_for(name)


@pytest.mark.parametrize("broken", ["certificate.pem", "authority.pem"])
def test_what_is_no_certificate_is_told(authority: Path, tmp_path: Path, broken: str) -> None:
    make_identity(authority, tmp_path / "analyst", "analyst", ("127.0.0.1",))
    (tmp_path / "analyst" / broken).write_text("something else")
    with pytest.raises(InvalidParameter, match=f"{broken} is not a certificate"):
        load_identity(tmp_path / "analyst")
