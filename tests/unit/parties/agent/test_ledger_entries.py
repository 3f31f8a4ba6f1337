"""What entries say: there and back, as canonical bytes, and nothing else is taken for one."""

from __future__ import annotations

import json

import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.ledger import Charge
from localdp.cohorts import Cohort, Split
from localdp.errors import StorageFailed
from parties.agent.entries import (
    Checkpoint,
    Content,
    Decided,
    EpochEnded,
    EpochOpened,
    Loss,
    SettingsStated,
    Upgrade,
    Witnessed,
    cost_of,
    from_bytes,
    kind_of,
    to_bytes,
)

SPLIT = Cohort(3, 9, Split(b"s" * 16, 4, 2))
CONTENTS: list[Content] = [
    Charge(b"r" * 32, b"pin", Cohort(0, 5), Epsilon(7), "one-bit of smoker", "Zoë", "key-1", epoch=3),
    Charge(b"", b"", SPLIT, Epsilon(0), "", epoch=0),
    EpochOpened(4, b"i" * 16, b"pin"),
    EpochOpened(4, b"i" * 16, b"pin", clock=5),
    EpochEnded(4),
    SettingsStated('budget 4, policy "ä"\n'),
    Checkpoint(b"d" * 32, 1 << 70, 5),
    Loss(Epsilon(1 << 60), "a lost disk"),
    Upgrade(1, 4, b"h" * 32),
    Witnessed(b"k" * 32),
    Decided("Zoë", "smoker and age > 40", Epsilon(5), True),
]


@pytest.mark.parametrize("content", CONTENTS, ids=kind_of)
def test_what_is_written_is_read_back(content: Content) -> None:
    body = to_bytes(content)
    assert from_bytes(1, kind_of(content), body) == content
    assert body.isascii() and b"\n" not in body
    assert cost_of(content) == getattr(getattr(content, "cost", None), "nanonats", 0)


def test_the_kinds_are_all_there_are() -> None:
    assert len({kind_of(content) for content in CONTENTS}) == 9


@pytest.mark.parametrize("content", CONTENTS, ids=kind_of)
def test_a_field_that_is_missing_of_another_type_or_too_much_is_refused(content: Content) -> None:
    data, kind = json.loads(to_bytes(content)), kind_of(content)
    for name in data:
        without = {key: value for key, value in data.items() if key != name}
        for changed in (without, *({**data, name: value} for value in (None, [1], -1, 1.5, True))):
            if changed == {**data} or (name in ("split", "clock") and not changed.get(name)):
                continue
            with pytest.raises(StorageFailed):
                from_bytes(1, kind, json.dumps(changed, sort_keys=True, separators=(",", ":")).encode())
    with pytest.raises(StorageFailed):
        from_bytes(1, kind, json.dumps({**data, "more": 1}, sort_keys=True, separators=(",", ":")).encode())


@pytest.mark.parametrize("body", [b"", b"[]", b"null", b"\xff", b'{"epoch": 4}', b'{"epoch":4} '])
def test_what_is_not_written_as_it_is_written_is_refused(body: bytes) -> None:
    with pytest.raises(StorageFailed):
        from_bytes(1, "end", body)
    with pytest.raises(StorageFailed):
        from_bytes(1, "another kind", b'{"epoch":4}')
