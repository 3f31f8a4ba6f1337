"""How large a proof is, and what is refused because of it."""

import pytest

from localdp.accounting.epsilon import Epsilon
from localdp.errors import InvalidParameter
from localdp.sharing.digit_coins import LaplaceCoins
from localdp.sharing.prio3.fields import FIELD64, FIELD128
from localdp.sharing.proved.shape import LARGEST_PROOF_BYTES, shape_for
from parties.serving import LARGEST_MESSAGE_BYTES

LAW = LaplaceCoins.of(Epsilon.requested(1), 1)


def test_a_proof_takes_so_many_bytes() -> None:
    assert shape_for(LAW, FIELD64, 1).proof_bytes == 1712
    assert shape_for(LAW, FIELD64, 256).proof_bytes < 180_000
    assert shape_for(LAW, FIELD128, 256).proof_bytes < 190_000


def test_what_would_not_fit_into_a_message_is_refused_with_what_would() -> None:
    assert LARGEST_PROOF_BYTES + (1 << 18) < LARGEST_MESSAGE_BYTES
    with pytest.raises(InvalidParameter, match=r"for about 5\d\d\d sums at once, and there are 65536"):
        shape_for(LAW, FIELD64, 65_536)
    assert shape_for(LAW, FIELD64, 5000)
