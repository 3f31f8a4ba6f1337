"""Pan-privacy: a state that an intruder may see once (Definition 12.8; Dwork, Naor, Pitassi, Rothblum and Yekhanin 2010).

Definition 12.8.  Streams are neighbours at the level of users if they differ in any number of appearances of one element,
and at the level of events if they differ in one of them.  A mechanism is pan-private against one intrusion if what it
releases, together with its whole state at one moment that nobody chose for it, is epsilon-private.

A state that was seen stays seen: two states tell apart what came between them, however much noise there is in each.  So an
intrusion that is noticed is written down (`Intrusions`), and nothing more is taken in until the state was made anew, at a
further price, where that is possible.  The output that was promised may still be made.

Checked by `tests/unit/mechanisms/pan_private`, which enumerates the joint law of the states and the output.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from localdp.accounting.claim import PrivacyClaim
from localdp.accounting.epsilon import Epsilon
from localdp.errors import BudgetExhausted, InvalidParameter

BY_USER = "adding, leaving out or moving any number of appearances of one element"
BY_EVENT = "changing the value of one event, in the step in which it comes,"
_SEEN = "anybody who sees what is released, and all of the state once"


def pan_private(claim: PrivacyClaim, epsilon: Epsilon, neighbours: str) -> PrivacyClaim:
    """The claim of whoever holds the state, for the state as well."""
    return replace(claim, epsilon=epsilon, neighbours=neighbours, against=_SEEN, honest=_honest(claim))


def _honest(claim: PrivacyClaim) -> str:
    return f"Whoever holds the state ({claim.model}) follows the protocol, keeps no older one, and does not watch."


@dataclass(slots=True)
class Intrusions:
    """How often somebody was in: what the promise is for is one time, and one more each time the state was made anew."""

    noticed: int = 0
    renewed: int = 0

    def notice(self) -> None:
        """Somebody has seen the state, or may have."""
        self.noticed += 1

    def require_to_renew(self) -> None:
        """Refuse to make anew what nobody saw: noise would be added for nothing, and more often than is known."""
        self.require_promised()
        if self.noticed == self.renewed:
            raise InvalidParameter(
                "nobody has said that this state was seen, so it need not be made anew: go on with it, or say so first"
            )

    def renew(self) -> None:
        """The state was drawn anew, so that it may be seen once more."""
        self.renewed = self.noticed

    def require_unseen(self) -> None:
        """Refuse to go on with a state that was seen."""
        if self.noticed > self.renewed:
            raise BudgetExhausted(
                "the state was seen: a second look would tell what came since. Tell what there is, renew the state if it "
                "can be, or begin anew"
            )

    def require_promised(self) -> None:
        """Refuse to release anything after more intrusions than the promise is for."""
        if self.noticed > self.renewed + 1:
            raise BudgetExhausted(
                "the state was seen twice, which the promise is not for: nothing is released; begin anew"
            )
