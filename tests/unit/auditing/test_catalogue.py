"""The catalogue holds every local randomizer, and the auditor picks the strongest method that it can afford."""

import importlib
import inspect
import pkgutil

import pytest

import localdp.randomizers
from localdp.accounting.epsilon import Epsilon
from localdp.auditing import audit
from localdp.errors import InvalidParameter
from localdp.randomizers.registry import ENTRIES, REGISTRY, entry_of
from localdp.randomness.hazmat import SeededSource
from tests.unit.auditing.twins import EPSILON, NAMES, small

OPERATIONS = ("randomize", "pack", "unpack", "epsilon", "canonical")
NOT_MADE_ALONE = {"UnaryEncoding", "_Sketch"}  # parts that several share


def test_every_randomizer_of_the_library_is_in_the_catalogue() -> None:
    modules = pkgutil.iter_modules(localdp.randomizers.__path__, "localdp.randomizers.")
    found = {
        name
        for module in modules
        for name, kind in inspect.getmembers(importlib.import_module(module.name), inspect.isclass)
        if all(hasattr(kind, operation) for operation in OPERATIONS)
        and not inspect.isabstract(kind)
        and not getattr(kind, "_is_protocol", False)
    }
    assert found - NOT_MADE_ALONE == {type(small(name)).__name__ for name in NAMES}


def test_names_are_those_of_the_canonical_texts() -> None:
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


def test_the_method_follows_from_the_number_of_paths() -> None:
    def methods(name: str, size: int) -> tuple[str, str]:
        randomizer = REGISTRY[name].made(EPSILON, size)
        finding = audit(randomizer, SeededSource(0), trials=1000)
        return finding.method, finding.verdict

    assert methods("k-ary", 10) == ("exact", "holds")
    assert methods("k-ary", 300) == ("exact", "holds where tried")
    assert methods("k-ary", 100_000) == ("sampled", "not refuted")
    assert methods("optimized-unary", 100) == ("sampled", "not refuted")
