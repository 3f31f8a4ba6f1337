"""Bundles of sites: an agent begins from one; what was changed on the way, or is something else, is refused."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from localdp.errors import InvalidParameter
from parties.agent.config import load_config
from parties.identity import KEY, load_identity, make_authority
from parties.site import Joined, Site, join_site, new_site

SITE = Site(
    "north", "127.0.0.1:7201", None, "analyst", {"server-0": "127.0.0.1:7211", "server-1": "127.0.0.1:7212"}
)
OWN = '\n[data]\npath = "t.csv"\n[schema]\nill = { kind = "bit" }\n[budget]\ntotal = 1\n'


@pytest.fixture
def made(tmp_path: Path) -> tuple[Path, Joined]:
    make_authority(tmp_path / "authority")
    return tmp_path / "north.site", new_site(
        tmp_path / "authority", SITE, ("127.0.0.1",), tmp_path / "north.site"
    )


def test_an_agent_begins_from_a_bundle(made: tuple[Path, Joined], tmp_path: Path) -> None:
    bundle, told = made
    assert bundle.stat().st_mode & 0o077 == 0
    assert join_site(bundle, tmp_path / "site", told.digest) == told
    identity = load_identity(tmp_path / "site/keys")
    assert identity.name == "north"
    path = tmp_path / "site/agent.toml"
    path.write_text(path.read_text() + OWN)
    config = load_config(path)
    assert (config.name, config.address, dict(config.share_servers)) == (
        "north",
        SITE.listen,
        SITE.share_servers,
    )
    assert config.policy.aggregators == frozenset({"analyst"}) and config.tls == tmp_path / "site/keys"
    assert "DIGEST" in (tmp_path / "site/README.txt").read_text()
    with pytest.raises(InvalidParameter, match="is there already"):
        join_site(bundle, tmp_path / "site", told.digest)


def test_a_site_that_dials_has_no_address(tmp_path: Path) -> None:
    make_authority(tmp_path / "authority")
    site = Site("south", dial="relay.example:7100")
    join_site_of = new_site(tmp_path / "authority", site, ("localhost",), tmp_path / "south.site")
    join_site(tmp_path / "south.site", tmp_path / "south", join_site_of.digest)
    path = tmp_path / "south/agent.toml"
    path.write_text(path.read_text() + OWN)
    config = load_config(path)
    assert config.address is None and config.dial is not None and config.dial.name == "analyst"
    with pytest.raises(InvalidParameter, match="listens at an address, or dials"):
        new_site(tmp_path / "authority", Site("west"), ("localhost",), tmp_path / "west.site")


def changed(bundle: Path, name: str, content: bytes) -> None:
    """The archive with another member, or one more."""
    with zipfile.ZipFile(bundle) as archive:
        parts = {one.filename: archive.read(one) for one in archive.infolist()}
    with zipfile.ZipFile(bundle, "w") as archive:
        for member, part in {**parts, name: content}.items():
            archive.writestr(member, part)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("site.toml", "site.toml was changed on the way"),
        (f"keys/{KEY}", "was changed on the way"),
        ("../evil", "is no bundle"),
        ("more", "is no bundle"),
    ],
)
def test_what_was_changed_on_the_way_is_refused(
    name: str, told: str, made: tuple[Path, Joined], tmp_path: Path
) -> None:
    bundle, before = made
    changed(bundle, name, b"other")
    with pytest.raises(InvalidParameter, match="is not the bundle of this digest"):
        join_site(bundle, tmp_path / "site", before.digest)
    with pytest.raises(InvalidParameter, match=told):
        join_site(bundle, tmp_path / "site")
    assert not (tmp_path / "site").exists() and not (tmp_path / "evil").exists()


def test_sums_that_were_changed_with_a_member_are_found_out_by_the_digest_alone(
    made: tuple[Path, Joined], tmp_path: Path
) -> None:
    import hashlib

    bundle, before = made
    with zipfile.ZipFile(bundle) as archive:
        sums, old = archive.read("SHA256SUMS").decode(), archive.read("site.toml")
    other = old.replace(b"7211", b"7999")
    changed(bundle, "site.toml", other)
    before_it, after_it = (hashlib.sha256(one).hexdigest() for one in (old, other))
    changed(bundle, "SHA256SUMS", sums.replace(before_it, after_it).encode())
    with pytest.raises(InvalidParameter, match="is not the bundle of this digest"):
        join_site(bundle, tmp_path / "site", before.digest)
    assert join_site(bundle, tmp_path / "site").digest != before.digest


def test_a_bundle_that_was_harmed_is_refused_in_our_words_wherever_it_was(
    made: tuple[Path, Joined], tmp_path: Path
) -> None:
    content = made[0].read_bytes()
    told = set()
    for place in range(0, len(content), 23):
        (tmp_path / "x").write_bytes(
            content[:place] + bytes([content[place] ^ 0x55]) + content[place + 1 :]
        )
        try:  # without the digest, as somebody in a hurry; what is not looked at may be another
            join_site(tmp_path / "x", tmp_path / str(place))
        except InvalidParameter as error:
            told.add(str(error))
    assert told == {f"{tmp_path / 'x'} is no bundle of `localdp site new`"}


@pytest.mark.parametrize("name", ["agent.toml", "README.txt", "keys"])
def test_what_is_there_already_stays_as_it_is(name: str, made: tuple[Path, Joined], tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / name).write_text("mine")
    with pytest.raises(InvalidParameter, match="is there already"):
        join_site(made[0], tmp_path / "site")
    assert [path.read_text() for path in (tmp_path / "site").iterdir()] == ["mine"]


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 nothing", b"x" * 100])
def test_what_is_no_bundle_is_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(InvalidParameter, match="is no bundle"):
        join_site(tmp_path / "x", tmp_path / "site")
    with pytest.raises(InvalidParameter, match="is no bundle"):
        join_site(tmp_path / "away", tmp_path / "site")
