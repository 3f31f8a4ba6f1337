"""Small flooded rounds for tests."""

from __future__ import annotations

from fractions import Fraction

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from localdp.accounting.epsilon import Epsilon
from localdp.accounting.flood_plan import Flooded, FloodPlan, planned
from localdp.sharing.flooded_round import FloodedPart, FloodedQuestion, FloodedRound

SECRET = bytes(range(32))
KEY = X25519PrivateKey.from_private_bytes(SECRET).public_key().public_bytes_raw()
DELTA = Fraction(1, 10**6)


def plan_of(
    people: int, honest: int | None = None, epsilon: str = "1", sums: Flooded | None = None
) -> FloodPlan:
    """A plan whose flood is small: a few hundred messages."""
    delta = Fraction(1, 1000)
    return planned(Epsilon.requested(epsilon), delta, sums or Flooded(), people, honest, Fraction(1, 10**6))


def question_of(
    plan: FloodPlan, key: bytes = KEY, query: str = "smoker", number: int = 0
) -> FloodedQuestion:
    """A question of that plan."""
    return FloodedQuestion(number.to_bytes(16, "big"), query, 16, plan, key)


def round_at(question: FloodedQuestion, *parts: tuple[str, int]) -> FloodedRound:
    """The question, put to the first people of these parties."""
    return FloodedRound(question, tuple(FloodedPart(name, 0, people) for name, people in parts))
