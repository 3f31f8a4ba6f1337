"""The digital goods auction, shown: what is earned at a private price, under several models.

Checked in tests/unit/experiments/test_play_runs.py.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from localdp.accounting.epsilon import Epsilon
from localdp.algorithms.games.auction import AuctionPrice, private_price, revenue_of
from localdp.domains import RealDomain, Records, Schema
from localdp.experiments.attack_trials import Range
from localdp.experiments.draws import uniforms
from localdp.experiments.panels import Demonstration, Panel
from localdp.experiments.parties_in_process import asked_in_process
from localdp.oracles.curator import CuratorOracle
from localdp.oracles.local import LocalOracle
from localdp.oracles.shared import SharedOracle
from localdp.randomness.source import RandomSource

PEOPLE = (300, 1000, 10_000, 100_000)
PRICES = 64
SHOWN = (CuratorOracle.model, SharedOracle.model, LocalOracle.model)
ONE = Epsilon.requested(1)


def earned(model: str, people: int, source: RandomSource) -> float:
    """What is earned at the price of an oracle, as a part of the best."""
    records = Records(Schema({"bid": RealDomain(0, 1)}), {"bid": uniforms(source, people)})
    oracle = asked_in_process(model, records, ONE, source)
    auction = AuctionPrice("bid", PRICES, check_signal=False).fit(oracle)
    return auction.measures(auction, records)["score"]


def earned_by_book(people: int, source: RandomSource) -> float:
    """The same at a price of exp(epsilon Rev)."""
    bids = uniforms(source, people)
    price = private_price(np.floor(bids * PRICES).astype(np.int64), PRICES, ONE, source)
    revenue = revenue_of(bids, PRICES)
    return float(revenue[int(price * PRICES) - 1] / revenue.max())


def auction(tried: Range) -> Demonstration:
    """By the number of people."""
    points = [
        tried.point(model, people, partial(earned, model, people))
        for model in tried.shown(SHOWN)
        for people in PEOPLE
    ]
    points += [
        tried.point("exponential mechanism", people, partial(earned_by_book, people)) for people in PEOPLE
    ]
    notes = (
        f"bids are uniform, and there are {PRICES} prices; a lie gains at most tanh(epsilon / 2) of what there is to gain",
        "the exponential mechanism has exp(epsilon Rev): one bid moves all revenues the same way",
    )
    title = "A price that nobody can lower by bidding less"
    panel = Panel("epsilon = 1", "people", "fraction of the best revenue that is earned", tuple(points))
    return Demonstration("auction", title, (panel,), notes)
