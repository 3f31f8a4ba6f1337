"""The registry: every construction has a row, every row a construction and a message, and names that agree."""

import re
from collections.abc import Iterable
from pathlib import Path

import pytest

import localdp.randomizers
from localdp.accounting.epsilon import Epsilon
from localdp.errors import InvalidParameter
from localdp.randomizers.registry import ENTRIES, REGISTRY, Entry, entry_of
from parties.wire.v1 import randomizer_pb2
from tests.support.processes import ROOT
from tests.unit.auditing.twins import EPSILON, NAMES, small

NO_CONSTRUCTIONS = {"__init__", "definition", "input_kinds", "registry", "sampled_sign"}
MODULES = {path.stem for path in Path(localdp.randomizers.__path__[0]).glob("*.py")} - NO_CONSTRUCTIONS


def modules_of(entries: Iterable[Entry]) -> set[str]:
    """The modules that the classes of some rows stand in."""
    return {entry.construction.__module__.removeprefix("localdp.randomizers.") for entry in entries}


def test_every_module_of_the_room_has_a_row_and_every_row_a_module() -> None:
    assert modules_of(ENTRIES) == MODULES and len(MODULES) >= 22


@pytest.mark.parametrize("module", sorted(MODULES))
def test_a_module_that_is_left_out_is_found(module: str) -> None:
    others = [entry for entry in ENTRIES if not entry.construction.__module__.endswith(f".{module}")]
    assert MODULES - modules_of(others) == {module}


def test_every_row_has_a_message_and_every_message_a_row() -> None:
    kinds = randomizer_pb2.Randomizer.DESCRIPTOR.oneofs_by_name["kind"].fields
    assert {entry.wire for entry in ENTRIES} == {kind.name for kind in kinds}


def test_a_row_makes_its_own_class_and_a_class_travels_under_one_name() -> None:
    for entry in ENTRIES:
        assert {type(randomizer) for randomizer in entry.examples(EPSILON)} == {entry.construction}
    assert len({entry.wire for entry in ENTRIES}) == len({entry.construction for entry in ENTRIES})


def by_class(source: str) -> list[str]:
    """Where a text asks whether something is one of the constructions."""
    names = "|".join(entry.construction.__name__ for entry in ENTRIES)
    return re.findall(rf"isinstance\([^()]*,[^()]*\b(?:{names})\b|\bcase .*\b(?:{names})\(", source)


def test_nobody_else_asks_for_the_class_of_a_randomizer() -> None:
    asking = [
        path
        for room in ("localdp", "parties")
        for path in (ROOT / room).rglob("*.py")
        if path.parent.name != "randomizers" and by_class(path.read_text())
    ]
    assert not asking
    assert by_class("if isinstance(randomizer, PrivUnit):") and by_class("        case PrivUnit():")
    assert by_class("isinstance(one, OneBitRandomizer | PrivUnit)") and not by_class("PrivUnit(epsilon, 3)")


def test_names_are_those_of_the_canonical_texts() -> None:
    assert len(REGISTRY) == len(ENTRIES)
    for entry in ENTRIES:
        prefix = small(entry.name).canonical.split("(")[0]
        assert entry.name == prefix or (prefix == "memoised" and entry.name.startswith("memoised-"))


@pytest.mark.parametrize("name", NAMES)
def test_every_entry_can_be_made_at_other_sizes_and_epsilons(name: str) -> None:
    for epsilon, size in ((0.1, 2), (4, 9), (20, 16)):
        randomizer = REGISTRY[name].made(Epsilon.requested(epsilon), size)
        assert randomizer.epsilon <= Epsilon.requested(epsilon)


def test_an_unknown_name_is_refused_with_the_nearest() -> None:
    with pytest.raises(InvalidParameter, match="did you mean k-ary"):
        entry_of("kary")
    with pytest.raises(InvalidParameter):
        entry_of("one-bit").made(EPSILON, 1)
