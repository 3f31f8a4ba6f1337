"""What every coalition can learn, for every plan."""

from fractions import Fraction

import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.errors import InvalidParameter
from localdp.sharing.coalitions import coalition_epsilons, promise
from localdp.sharing.noise_plans import NoisePlan
from localdp.sharing.shortfall import worst_loss

ONE = Epsilon.requested(1)


def epsilons(plan: str, servers: int, sensitivity: int = 1, length: int = 1) -> list[float | None]:
    rows = coalition_epsilons(
        NoisePlan.parse(plan), ONE, servers=servers, sensitivity=sensitivity, length=length
    )
    assert [row.colluding for row in rows] == list(range(servers + 1))
    return [None if row.epsilon is None else float(row.epsilon) for row in rows]


def test_three_servers() -> None:
    assert epsilons("each-server", 3) == [1, 1, 1, None]
    assert epsilons("divided(2)", 3) == [1, 1, 1, None]
    assert epsilons("divided(1)", 3) == [1, 1, 1.675138633, None]
    assert epsilons("divided", 3) == [1, 1.389484838, 2.082632018, None]


def test_a_histogram_is_worse_off_than_a_sum_of_the_same_sensitivity() -> None:
    assert epsilons("divided(1)", 3, sensitivity=2, length=1) == [1, 1, 1.905842144, None]
    assert epsilons("divided(1)", 3, sensitivity=2, length=16) == [1, 1, 2.275088113, None]


@pytest.mark.parametrize("servers", [2, 5, 16])
@pytest.mark.parametrize("sensitivity", [1, 2, 1 << 16])
def test_a_plan_holds_exactly_as_long_as_it_says(servers: int, sensitivity: int) -> None:
    for plan in (NoisePlan.EACH_SERVER, *(NoisePlan.divided(t) for t in range(servers))):
        rows = coalition_epsilons(plan, ONE, servers=servers, sensitivity=sensitivity, length=2)
        for row in rows[:-1]:
            assert row.epsilon is not None
            assert (
                (row.epsilon == ONE)
                == (row.colluding <= plan.withstands(servers))
                == (row.honest_shape >= 1)
            )
        found = [row.epsilon for row in rows[:-1] if row.epsilon is not None]
        assert found == sorted(found)
        assert rows[-1].epsilon is None and rows[-1].honest == "nobody is left"


def test_what_is_left_over_is_what_the_honest_servers_drew() -> None:
    rows = coalition_epsilons(
        NoisePlan.DIVIDED, Epsilon.requested("0.1"), servers=10, sensitivity=2, length=4
    )
    assert rows[1].honest_shape == Fraction(9, 10)
    assert rows[1].epsilon == worst_loss(Fraction(1, 20), Fraction(9, 10), 2, 4)


def test_the_words_say_who_must_be_honest() -> None:
    rows = coalition_epsilons(NoisePlan.DIVIDED, ONE, servers=3)
    assert [row.honest for row in rows][:3] == [
        "all 3 servers",
        "any 2 of the 3 servers",
        "any 1 of the 3 servers",
    ]
    assert promise(NoisePlan.EACH_SERVER, 3) == (
        "the analyst together with any 2 of the 3 share servers",
        "At least one share server must be honest.",
    )
    assert promise(NoisePlan.divided(1), 3)[1] == "At least 2 share servers must be honest."
    assert promise(NoisePlan.divided(2), 3) == promise(NoisePlan.EACH_SERVER, 3)
    assert promise(NoisePlan.DIVIDED, 2)[1].startswith("All 2 share servers must keep their noise")


def test_what_cannot_be_is_refused() -> None:
    for plan, servers, length in (
        (NoisePlan.divided(3), 3, 1),
        (NoisePlan.DIVIDED, 2, 0),
        (NoisePlan.DIVIDED, 2, 1 << 21),
    ):
        with pytest.raises(InvalidParameter):
            coalition_epsilons(plan, ONE, servers=servers, length=length)
