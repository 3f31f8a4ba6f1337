"""The types of what goes into compiled functions and comes out of them.

Everything is words of 64 bits, in the order of bytes of the wire, so that a matrix of bytes is a matrix of words without a
copy.  What is given may be read-only, cut out of a larger matrix, and begin at any byte.
"""

from localdp.sharing.prio3.batch.compiled.plan import Lengths
from localdp.sharing.prio3.batch.compiled.toolchain import Kind, types

GIVEN = types.Array(types.uint64, 2, "A", readonly=True, aligned=False)
MATRIX = types.Array(types.uint64, 2, "A", aligned=False)
VECTOR = types.Array(types.uint64, 1, "C", readonly=True)
STATUS = types.Array(types.uint8, 1, "C")
SHAPE = types.NamedUniTuple(types.int64, len(Lengths._fields), Lengths)


def element(limbs: int) -> Kind:
    """An element of the field with so many words."""
    return types.uint64 if limbs == 1 else types.UniTuple(types.uint64, 2)
