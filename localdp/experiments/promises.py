"""What each trust model promises for one count, in words for the person whose record it is.

Every statement names epsilon, its neighbours and its unit, who must be honest, and against whom it holds; that of the
shuffled model its delta, what the shuffler itself sees and that other parties must not tell what they sent, that of the
shared model what coalitions of servers learn.
Checked in tests/unit/experiments/test_comparison.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from localdp.accounting.epsilon import Epsilon
from localdp.oracles.bounds import SMALLEST_COALITION_EPSILON, coalition_epsilon, shuffled_local_epsilon
from localdp.sharing.noise_plans import NoisePlan

NEIGHBOURS = "replace one person's record"


@dataclass(frozen=True, slots=True)
class PrivacyStatement:
    """What one trust model promises for one count, in words for the person whose record it is."""

    model: str
    epsilon: float | None  # Nats, for one count; None: no promise.
    neighbours: str
    unit: str
    honest: str
    kind: str  # "none", "pure", "approximate" (Definition 2.4: delta = 0, above 0) or "computational" (9.4)
    words: str
    delta: float | None = None  # None: nothing is excepted


def privacy_statements(
    epsilon: float, noise_plan: str, servers: int, delta: float = 1e-6, people: Sequence[int] = ()
) -> tuple[PrivacyStatement, ...]:
    """What each trust model promises at this epsilon, for one count; `people`: how many a shuffler mixes."""
    return (
        PrivacyStatement(
            model="exact",
            epsilon=None,
            neighbours=NEIGHBOURS,
            unit="no limit",
            honest="everybody who sees a record or the answer",
            kind="none",
            words="No privacy: the true count is shown as it is. It is here only as a yardstick.",
        ),
        PrivacyStatement(
            model="curator",
            epsilon=epsilon,
            neighbours=NEIGHBOURS,
            unit="in total, for one count",
            honest="the curator, who sees every record",
            kind="pure",
            words=f"Whoever sees the answer learns at most epsilon = {epsilon:g} about one person, however "
            "much they compute. The curator sees every record, and must keep them secret.",
        ),
        PrivacyStatement(
            model="local",
            epsilon=epsilon,
            neighbours=NEIGHBOURS,
            unit="per report, and in total as each person sends one report for one count",
            honest="nobody but one's own device",
            kind="pure",
            words="Each person's bit is randomized before it leaves the device. Everybody else together, "
            f"the aggregator included, learns at most epsilon = {epsilon:g} about that person, however "
            "much they compute.",
        ),
        _shuffled_statement(epsilon, delta, people),
        _shared_statement(epsilon, NoisePlan.parse(noise_plan), servers),
    )


def _shuffled_statement(epsilon: float, delta: float, people: Sequence[int]) -> PrivacyStatement:
    return PrivacyStatement(
        model="shuffled",
        epsilon=epsilon,
        neighbours=NEIGHBOURS,
        unit="in total, for one count, against whoever sees the mixed reports",
        honest="the shuffler, who sees who sent which report; and the other parties, who must not tell the aggregator "
        "what they sent",
        kind="approximate",
        words="Each person's bit is randomized before it leaves the device, and a shuffler passes the reports on "
        f"without names or order. Who sees them learns at most epsilon = {epsilon:g} about one person, but for a "
        f"probability of delta = {delta:g}, however much they compute. A person hides among the others' reports: it is "
        "assumed that the other parties do not tell the aggregator what they sent. Against the shuffler itself there is "
        f"only the epsilon of a single report{_single_reports(epsilon, delta, people)}.",
        delta=delta,
    )


def _single_reports(epsilon: float, delta: float, people: Sequence[int]) -> str:
    """What a report reveals to the shuffler, for the fewest and for the most people."""
    if not people:
        return ", which is larger"
    amount, part = Epsilon.requested(epsilon), Fraction(str(delta))
    told = [
        f"{float(shuffled_local_epsilon(amount, part, n)):.3g} where {n:,} people are mixed"
        for n in sorted({min(people), max(people)})
    ]
    return f": {' and '.join(told)}"


def _shared_statement(epsilon: float, plan: NoisePlan, servers: int) -> PrivacyStatement:
    honest, protection = (
        _each_server(epsilon, servers) if plan.kind == "each-server" else _divided(epsilon, plan, servers)
    )
    return PrivacyStatement(
        model="shared",
        epsilon=epsilon,
        neighbours=NEIGHBOURS,
        unit="in total, for one count",
        honest=honest,
        kind="computational",
        words=f"No server sees a record, only a random-looking share of it. {protection} This holds "
        "against adversaries of bounded computing power (Definition 9.4).",
    )


def _each_server(epsilon: float, servers: int) -> tuple[str, str]:
    return f"at least one of the {servers} share servers", (
        f"Every server adds the full noise, so {_coalition(servers - 1)} on the wrong side can learn "
        f"at most epsilon = {epsilon:g}, as long as the remaining one keeps to the protocol."
    )


def _divided(epsilon: float, plan: NoisePlan, servers: int) -> tuple[str, str]:
    needed = "all" if not plan.tolerated else f"all but {plan.tolerated} of the"
    who = "Who sees only the answer" + (
        f", or colludes with {_coalition(plan.tolerated)}," if plan.tolerated else ""
    )
    return (
        f"{needed} {servers} share servers for epsilon = {epsilon:g}; one of them for a weaker epsilon",
        (
            f"The servers divide the noise. {who} learns at most epsilon = {epsilon:g}, "
            f"but a server knows its own part of the noise, so {_weaker(epsilon, plan, servers)}."
        ),
    )


def _coalition(servers: int) -> str:
    return "one server" if servers == 1 else f"{servers} servers"


def _weaker(epsilon: float, plan: NoisePlan, servers: int) -> str:
    """For the smallest coalition that is not tolerated, and for all but one server, the epsilon that is left."""
    if epsilon < SMALLEST_COALITION_EPSILON:
        return "against servers the promise is weaker"
    whole, sizes = (
        servers - plan.tolerated,
        sorted({min(plan.tolerated + 1, servers - 1), servers - 1} - {0}),
    )
    return " and ".join(
        f"against {_coalition(size)} it is {coalition_epsilon(epsilon, min(1.0, (servers - size) / whole)):.3g}"
        for size in sizes
    )
