"""What a noise plan promises against every coalition of share servers.

The collector together with c of the m servers knows the noises of these c; what is left is noise of the shape of m -
c servers (`noise_plans.py`).  Where that is at least 1, one discrete Laplace noise of the full parameter can be split
off, the rest is added to it independently, and the loss is epsilon; the far tails attain it.  Where it is below 1 the
loss is that of `shortfall.py`.  Where nothing is left there is no privacy at all.  A server that leaves its noise
out, or lets it be known, counts as one of the coalition, whatever its intentions.

Shares are perfectly secret from any m - 1 servers, so that the view of a coalition is a function of the noisy sums
and its own noise.  The claim is computational (Definition 9.4), with delta = 0: the servers' coins come from a
keystream.

Checked in tests/unit/sharing/test_coalitions.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from localdp.accounting.epsilon import Epsilon
from localdp.errors import InvalidParameter
from localdp.sharing.encoding import LARGEST_LENGTH
from localdp.sharing.noise_plans import NoisePlan, ServerNoise
from localdp.sharing.shortfall import worst_loss


@dataclass(frozen=True, slots=True)
class Coalition:
    """The collector together with so many of the share servers, and what they can learn about a person."""

    colluding: int
    honest_shape: Fraction  # of the noise that the coalition does not know; 1 is the full noise
    # At least the loss of one release, in nats, replace-one neighbours; None: no privacy.
    epsilon: Epsilon | None
    honest: str  # who must be honest for this to be the largest coalition


def coalition_epsilons(
    plan: NoisePlan, epsilon: Epsilon, *, servers: int, sensitivity: int = 1, length: int = 1
) -> list[Coalition]:
    """One row for every size of a coalition, from the collector alone to all servers."""
    noise = ServerNoise(plan, Epsilon.requested(epsilon), sensitivity, servers)
    return [coalition(noise, length, colluding) for colluding in range(servers + 1)]


def coalition(noise: ServerNoise, length: int, colluding: int) -> Coalition:
    """What the collector and `colluding` servers can learn from `length` released sums."""
    if not 1 <= length <= LARGEST_LENGTH:
        raise InvalidParameter(f"a release has 1 to {LARGEST_LENGTH} sums")
    left = noise.honest(colluding)
    words = honest_words(noise.servers - colluding, noise.servers)
    if left is None:
        return Coalition(colluding, Fraction(0), None, words)
    if left.shape >= 1:
        return Coalition(colluding, left.shape, noise.epsilon, words)
    loss = worst_loss(noise.parameter, left.shape, noise.sensitivity, length)
    return Coalition(colluding, left.shape, loss, words)


def honest_words(honest: int, servers: int) -> str:
    """So many of the servers, in words."""
    if honest == 0:
        return "nobody is left"
    if honest == servers:
        return f"all {servers} servers"
    return f"any {honest} of the {servers} servers"


def promise(plan: NoisePlan, servers: int) -> tuple[str, str]:
    """Against whom the plan's epsilon holds, and who must be honest for it: the words of a claim."""
    colluding = plan.withstands(servers)
    if colluding == 0:
        return (
            "the analyst, who knows no server's noise,",
            f"All {servers} share servers must keep their noise and their shares to themselves.",
        )
    honest = servers - colluding
    who = "At least one share server" if honest == 1 else f"At least {honest} share servers"
    proved = " Each has proved its noise to the others." if plan.is_proved else ""
    return (
        f"the analyst together with any {colluding} of the {servers} share servers",
        f"{who} must be honest.{proved}",
    )
