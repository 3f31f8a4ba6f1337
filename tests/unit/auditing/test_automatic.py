"""The auditor picks the strongest method that it can afford."""

from localdp.auditing import audit
from localdp.randomizers.registry import REGISTRY
from localdp.randomness.hazmat import SeededSource
from tests.unit.auditing.twins import EPSILON


def test_the_method_follows_from_the_number_of_paths() -> None:
    def methods(name: str, size: int) -> tuple[str, str]:
        randomizer = REGISTRY[name].made(EPSILON, size)
        finding = audit(randomizer, SeededSource(0), trials=1000)
        return finding.method, finding.verdict

    assert methods("k-ary", 10) == ("exact", "holds")
    assert methods("k-ary", 300) == ("exact", "holds where tried")
    assert methods("k-ary", 100_000) == ("sampled", "not refuted")
    assert methods("optimized-unary", 100) == ("sampled", "not refuted")
