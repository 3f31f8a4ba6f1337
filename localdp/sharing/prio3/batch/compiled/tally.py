"""Adding up words over the accepted reports of a block.

Checked against Python integers in tests/unit/sharing/prio3/test_engines.py.
"""

from localdp.sharing.prio3.batch.compiled.signatures import GIVEN, MATRIX, STATUS
from localdp.sharing.prio3.batch.compiled.toolchain import types
from localdp.sharing.prio3.batch.compiled.words import ONE, ZERO
from localdp.sharing.prio3.batch.words import Octets, Words

TALLY = types.void(GIVEN, STATUS, MATRIX)


def tally(rows: Words, accepted: Octets, sums: Words) -> None:
    """The sums of each column, as doubles: their low words in the first row of `sums`, their high words in the second."""
    for i in range(rows.shape[1]):
        sums[0, i] = sums[1, i] = ZERO
    for row in range(len(accepted)):
        if accepted[row]:
            for i in range(rows.shape[1]):
                low = sums[0, i] + rows[row, i]
                sums[1, i] += ONE if low < rows[row, i] else ZERO
                sums[0, i] = low
