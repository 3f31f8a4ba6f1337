"""A claim in words and as data says the same."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest

from localdp.accounting.claim import PrivacyClaim, Strength
from localdp.accounting.epsilon import Epsilon

ONE = Epsilon.requested(1)


@pytest.mark.parametrize(
    ("claim", "hidden"),
    [
        (PrivacyClaim.of_curator(ONE, Fraction(1, 10**6)), "replace one person's record"),
        (PrivacyClaim.of_local(ONE), "replace one person's record"),
        (PrivacyClaim.of_local(ONE, samples=True), "replace one person's record"),
        (PrivacyClaim.of_shares(ONE, "a", "b", samples=True), "replace one person's record"),
        (PrivacyClaim.of_local(ONE, by_row=True), "replace one row, of which one person may own several"),
    ],
)
def test_data_holds_the_words_and_everything_in_them(claim: PrivacyClaim, hidden: str) -> None:
    data = claim.to_data()
    assert json.loads(json.dumps(data)) == data
    assert data["words"] == claim.statement()
    assert (data["epsilon"], data["delta"], data["neighbours"]) == (1.0, float(claim.delta), hidden)
    assert (
        data["against"] in data["words"] and data["honest"] in data["words"] and "exp(1)" in data["words"]
    )
    assert data.get("about", "") in data["words"] and ("about" in data) == ("random visit" in data["words"])
    assert ("probability of 1e-06" in data["words"]) == bool(claim.delta)


def test_no_promise_has_no_epsilon() -> None:
    data = PrivacyClaim("exact", None, Strength.NONE, "anybody", "Whoever asks learns the truth.").to_data()
    assert data["epsilon"] is None
    assert data["words"] == "exact: no privacy. Whoever asks learns the truth."
