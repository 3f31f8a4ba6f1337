"""Files here and elsewhere: whole or not there; and elsewhere needs an extra, which is named."""

import sys
from pathlib import Path

import pytest

from localdp.errors import InvalidParameter
from parties.at_rest.places import found, inside, opened, written


def test_a_file_is_there_when_it_is_whole(tmp_path: Path) -> None:
    place = str(tmp_path / "new" / "a")
    with written(place) as file:
        file.write(b"1")
        assert not Path(place).exists()
    assert Path(place).read_bytes() == b"1"
    with pytest.raises(TypeError), written(place) as file:
        file.write("no bytes")  # type: ignore[call-overload]
    assert Path(place).read_bytes() == b"1" and found(str(tmp_path / "new" / "*")) == [place]


def test_no_link_is_followed_and_what_is_written_is_for_its_owner_alone(tmp_path: Path) -> None:
    precious = tmp_path / "secrets.json"
    precious.write_text("keys")
    for name in ("a", "a.part"):
        (tmp_path / name).symlink_to(precious)
    with written(str(tmp_path / "a")) as file:
        file.write(b"1")
    assert precious.read_text() == "keys" and not (tmp_path / "a").is_symlink()
    assert (tmp_path / "a").read_bytes() == b"1" and (tmp_path / "a").stat().st_mode & 0o777 == 0o600
    assert {path.name for path in tmp_path.iterdir()} == {"secrets.json", "a", "a.part"}


def test_this_machine_may_be_named_as_an_address_and_keeps_its_rules(tmp_path: Path) -> None:
    place = inside(f"file://{tmp_path}/new", "a")
    with written(place) as file:
        file.write(b"12")
    assert place == str(tmp_path / "new" / "a") and Path(place).stat().st_mode & 0o777 == 0o600
    assert found(f"file://{tmp_path}/new/*") == found(f"local://{tmp_path}/new/*") == [place]
    with opened(f"file://{place}") as file:
        assert file.read() == b"12"


def test_an_address_is_written_found_and_read() -> None:
    place = inside("memory://reports-of-a-test/", "a")
    with written(place) as file:
        file.write(b"12")
    assert found("memory://reports-of-a-test/*") == ["memory:///reports-of-a-test/a"]
    with opened(place) as file:
        assert file.read() == b"12"


def test_addresses_that_nothing_is_installed_for_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidParameter, match="cannot be opened"):
        found("carrier-pigeon://loft/*")
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(InvalidParameter, match=r"localdp\[scale\]"):
        found("memory://x/*")
