"""The file of secret keys: for its owner alone, whole or not at all, and rotated without losing a key."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from localdp.errors import InvalidParameter
from parties.agent.secret_file import FILE_NAME, load_secrets, make_secrets, rotate_secrets


def test_new_keys_are_read_back_and_readable_by_their_owner_alone(tmp_path: Path) -> None:
    made = make_secrets(tmp_path / "state")
    path = tmp_path / "state" / FILE_NAME
    assert path.stat().st_mode & 0o777 == 0o600
    assert load_secrets(tmp_path / "state") == made
    assert len(set(made.secrets.keys.values()) | {made.signing}) == 2


def test_the_mode_does_not_depend_on_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        make_secrets(tmp_path)
        rotate_secrets(tmp_path)
    finally:
        os.umask(before)
    assert (tmp_path / FILE_NAME).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o602, 0o610, 0o666])
def test_a_file_that_others_can_touch_is_refused(tmp_path: Path, mode: int) -> None:
    make_secrets(tmp_path)
    (tmp_path / FILE_NAME).chmod(mode)
    with pytest.raises(InvalidParameter, match="chmod 600"):
        load_secrets(tmp_path)
    with pytest.raises(InvalidParameter, match="chmod 600"):
        rotate_secrets(tmp_path)


def test_keys_are_never_overwritten(tmp_path: Path) -> None:
    made = make_secrets(tmp_path)
    with pytest.raises(InvalidParameter, match="not overwritten"):
        make_secrets(tmp_path)
    assert load_secrets(tmp_path) == made


def test_a_rotation_keeps_the_old_keys_and_the_key_that_signs(tmp_path: Path) -> None:
    first = make_secrets(tmp_path)
    second, third = rotate_secrets(tmp_path), rotate_secrets(tmp_path)
    assert (first.secrets.current, second.secrets.current, third.secrets.current) == (
        "key-1",
        "key-2",
        "key-3",
    )
    assert dict(third.secrets.keys).items() >= dict(first.secrets.keys).items()
    assert first.signing == second.signing == third.signing
    assert first.secrets.labels < second.secrets.labels < third.secrets.labels
    assert len(set(third.secrets.keys.values())) == 3
    assert load_secrets(tmp_path) == third


def test_a_name_that_is_used_again_is_another_key_to_the_ledger(tmp_path: Path) -> None:
    make_secrets(tmp_path)
    destroyed = rotate_secrets(tmp_path).secrets.label
    path = tmp_path / FILE_NAME
    data = json.loads(path.read_text())
    del data["keys"]["key-2"]
    path.write_text(json.dumps({**data, "current": "key-1"}))
    again = rotate_secrets(tmp_path).secrets
    assert again.current == "key-2"
    assert destroyed not in again.labels


CANARY = "ab" * 32


@pytest.mark.parametrize(
    "content",
    [
        "",
        CANARY,
        f'{{"keys": "{CANARY}"}}',
        f'{{"current": "key-1", "keys": {{"key-1": "{CANARY}"}}}}',
        f'{{"current": "key-2", "keys": {{"key-1": "{CANARY}"}}, "signing": "{CANARY}"}}',
        f'{{"current": "key-1", "keys": {{"key-1": "{CANARY}00"}}, "signing": "{CANARY}"}}',
        f'{{"current": ["{CANARY}"], "keys": {{}}, "signing": ""}}',
        f'{{"current": "key-1", "keys": {{"key-1": "{CANARY}"}}, "signing": "{CANARY}',
        f'["{CANARY}"]',
    ],
)
def test_a_broken_file_is_refused_without_quoting_it(tmp_path: Path, content: str) -> None:
    path = tmp_path / FILE_NAME
    path.write_text(content)
    path.chmod(0o600)
    with pytest.raises(InvalidParameter) as caught:
        load_secrets(tmp_path)
    assert "abab" not in str(caught.value) and caught.value.__cause__ is None
    assert path.read_text() == content


def test_a_missing_file_is_not_made_in_passing(tmp_path: Path) -> None:
    for attempt in (load_secrets, rotate_secrets):
        with pytest.raises(InvalidParameter, match="agent init"):
            attempt(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_rotation_that_cannot_write_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = make_secrets(tmp_path)

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device", str(tmp_path))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        rotate_secrets(tmp_path)
    monkeypatch.undo()
    assert load_secrets(tmp_path) == made
    assert [path.name for path in tmp_path.iterdir()] == [FILE_NAME]  # no part of it has the new key


def test_no_key_is_shown(tmp_path: Path) -> None:
    made = make_secrets(tmp_path)
    shown = repr(made)
    assert made.signing.hex() not in shown and repr(made.signing) not in shown
    assert all(key.hex() not in shown and repr(key) not in shown for key in made.secrets.keys.values())
