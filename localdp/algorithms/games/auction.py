"""The digital goods auction (section 10.2.1): a price at which many buy, which nobody can lower by bidding otherwise.

A seller has as many copies as there are buyers.  At price p whoever bid p or more buys, and the revenue is p times their
number.  Prices are k / K for k = 1, ..., K, and bids are rounded down to them, so revenues are whole numbers of 1 / K.

- `private_price`, of whoever has the bids: a price with probability proportional to exp(epsilon Rev).  A higher bid
  raises revenues or leaves them, so all change the same way and by at most 1: exp(epsilon Rev) is epsilon-private, and of
  the book's exp(epsilon Rev / 2) half of epsilon is left unspent.
- `AuctionPrice`, of any oracle: one that selects (`select`) tells the best price, with noise for changes both ways; any
  other gives how many people bid in each range (`RangeRelease`), and the price is found in that.

Claim.  The price is epsilon-private, so a bid that is not what a buyer would pay gains at most tanh(epsilon / 2) of the
largest gain there is (Proposition 10.1 as corrected in tests/book/test_chapter_10.py).
Expected revenue, as a part of the best for uniform bids and 100 prices: 0.993 of 1,000 people at epsilon = 1, 0.999 of
10,000; locally 0.99 of 100,000.  Checked exactly in tests/unit/algorithms/games/test_auction.py.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Self

import numpy as np

from localdp.accounting.epsilon import Epsilon
from localdp.algorithms.definition import Learner, Measures
from localdp.algorithms.release.distinguishers import ExponentialMechanism
from localdp.algorithms.release.ranges import RangeRelease
from localdp.domains import Records
from localdp.errors import InvalidParameter
from localdp.estimation.isotonic import monotone_cdf
from localdp.oracles.definition import StatisticalQueryOracle
from localdp.queries.asked import checked_vectors
from localdp.queries.scores import Largest
from localdp.queries.tokens import number_text
from localdp.randomness.source import Floats, IntegerLaw, Integers, RandomSource

MOST_PRICES = 1024


def revenues(bids: Integers, prices: int) -> Integers:
    """The revenue at each price k / K, in units of 1 / K; bids are whole numbers of 1 / K from 0 to K."""
    if bids.ndim != 1 or len(bids) == 0 or int(bids.min()) < 0 or int(bids.max()) > prices:
        raise InvalidParameter(f"bids are whole numbers from 0 to {prices}")
    at_least = np.cumsum(np.bincount(bids, minlength=prices + 1)[::-1])[::-1]
    return np.asarray(np.arange(1, prices + 1) * at_least[1:], np.int64)


def price_law(bids: Integers, prices: int, epsilon: Epsilon) -> IntegerLaw:
    """The law of the price: exp(epsilon Rev), as the exponential mechanism of twice the revenues."""
    return ExponentialMechanism().law(2 * revenues(bids, prices), prices, epsilon)


def private_price(bids: Integers, prices: int, epsilon: Epsilon, source: RandomSource) -> Fraction:
    """A price at which nearly the most is earned; epsilon-private in every bid."""
    chosen = int(source.categorical(price_law(bids, prices, epsilon), 1)[0])
    return Fraction(chosen + 1, prices)


class AuctionPrice(Learner):
    """A price for everybody at which nearly the most is earned.

    Parameters
    ----------
    bid : str
        A column of numbers from 0 to 1: what each person would pay.
    prices : int, default=64
        How many prices there are: 1/prices, 2/prices, ..., 1.
    check_signal : bool, default=True
        Refuse, before anybody is asked, if bids would drown in the noise. False asks all the same.

    Attributes
    ----------
    price_ : float
        The price.
    plan_, cost_, claim_ : Plan, Cost, PrivacyClaim
        How it was found, what that cost, and what is promised.

    Examples
    --------
    >>> import localdp as ldp
    >>> bids = {"bid": [place / 1000 for place in range(1000)]}
    >>> with ldp.simulate(bids, {"bid": {"kind": "real", "low": 0, "high": 1}}) as people:
    ...     release = people.release(AuctionPrice("bid", prices=10), model="exact")
    >>> release.price_
    0.5
    """

    def __init__(self, bid: str = "bid", prices: int = 64, *, check_signal: bool = True) -> None:
        self.bid = bid
        self.prices = prices
        self.check_signal = check_signal

    def _rounds(self) -> int:
        if not isinstance(self.prices, int) or not 2 <= self.prices <= MOST_PRICES:
            raise InvalidParameter(f"an auction has 2 to {MOST_PRICES} prices")
        return 1

    def _learn(self, oracle: StatisticalQueryOracle) -> None:
        place = self._selected(oracle) if oracle.selects else self._found(oracle)
        self.price_ = (place + 1) / self.prices

    def _selected(self, oracle: StatisticalQueryOracle) -> int:
        """By the best of revenues that nobody sees."""
        (step,) = checked_vectors([self._step()], oracle.schema)
        bins = np.arange(self.prices + 1)
        rows = np.array([(bins >= price) * price / self.prices for price in range(1, self.prices + 1)])
        self.plan_ = oracle.plan_select(step, Largest(rows))
        return oracle.select(step, Largest(rows)).place

    def _found(self, oracle: StatisticalQueryOracle) -> int:
        """By how many people bid in each range."""
        bids = RangeRelease(self.bid, 0, 1, self.prices, check_signal=self.check_signal).fit(oracle)
        self.plan_ = bids.plan_
        at_least = 1 - monotone_cdf(bids.prefix_[1:])[:-1]  # nobody buys at more and not at less
        return int(np.argmax(np.arange(1, self.prices) * at_least))

    def _step(self) -> str:
        """The number of the highest price that a person would pay, 0 for none."""
        below = [
            f"{self.bid} < {number_text(Fraction(price, self.prices))}" for price in range(1, self.prices)
        ]
        return f"which({', '.join([*below, f'{self.bid} < 1'])})"

    def measures(self, truth: Self, records: Records) -> Measures:
        """What is earned at the price, as a part of the best, on records at hand."""
        earned = revenue_of(np.asarray(records.column(self.bid), np.float64), self.prices)
        at = round(self.price_ * self.prices) - 1
        return {"score": float(earned[at] / earned.max()), "score_of_truth": 1.0}


def revenue_of(bids: Floats, prices: int) -> Floats:
    """What is earned at each price, of what people would pay."""
    stepped = np.floor(np.clip(bids, 0, 1) * prices + 1e-9).astype(np.int64)
    return revenues(stepped, prices) / prices
