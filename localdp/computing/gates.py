"""What three servers compute on shares: conjunctions, products, resharing, bits as field elements, opening.

AND and MUL (Araki et al. 2016): server i computes x_i y_i + x_i y_{i+1} + x_{i+1} y_i + r_i - r_{i+1}, its component
of the product, and sends it to server i - 1.  The masks r are shared randomness, so that what is sent is uniform to
its receiver.  One message of one bit, or of one element, and one round.

RESHARE turns additive shares of a collection into replicated ones: s_i + r_i - r_{i+1} goes to server i - 1.
Whatever a server sends is a sharing of something; so it can shift its own input, and do nothing else.  It is how an
attempt begins (`attempts.py`), and its masks are those of every attempt.

TO_FIELD makes a field element of a shared bit b_0 xor b_1 xor b_2.  Two servers know each component, so that three
products with one prover each suffice: **Deviation** from two general products, for half of the octets and a quarter
of the proof.

Claim.  Every gate computes what it says, and every message but those of OPEN is uniform to its receiver.
Checked for all small inputs, and over every coin, in tests/unit/computing/test_gates.py and test_views.py there.
"""

from __future__ import annotations

import numpy as np

from localdp.computing.dialogue import Dialogue, Exchange, others
from localdp.computing.keyed_streams import StreamPair
from localdp.computing.seat import Seat, SharedElements, SharedWords
from localdp.computing.transcript import ProductGates
from localdp.errors import ComputationAborted
from localdp.framing import DIGEST_BYTES, digest
from localdp.sharing.prio3.batch.kernels import Kernel
from localdp.sharing.prio3.batch.words import Words

MASK = b"mask"


def words_in(octets: bytes, shape: tuple[int, ...]) -> Words:
    """Words that a server sent."""
    return np.frombuffer(octets, "<u8").astype(np.uint64, copy=False).reshape(shape)


def octets_of(words: Words) -> bytes:
    """Words as they are sent."""
    return words.astype("<u8", copy=False).tobytes()


def pack_elements(elements: Words) -> bytes:
    """Elements of shape (limbs, count) as they are sent: one after the other, the least limb first."""
    return octets_of(np.ascontiguousarray(elements.T))


def elements_in(kernel: Kernel, octets: bytes, sender: int) -> Words:
    """Elements that a server sent, of shape (limbs, count); those of the prime or above are refused, not reduced."""
    elements = np.ascontiguousarray(words_in(octets, (-1, kernel.limbs)).T)
    if kernel.unreduced(elements).any():
        raise ComputationAborted.by("a field element out of its range", (sender,))
    return elements


def conjunction(seat: Seat, x: SharedWords, y: SharedWords) -> Dialogue[SharedWords]:
    """x AND y, lane by lane."""
    r = seat.fresh(MASK).words(*x.shape)
    z = np.empty_like(r)
    np.bitwise_xor(y.both[0], y.both[1], out=z[0])
    z[0] &= x.both[0]
    z[0] ^= x.both[1] & y.both[0]
    z[0] ^= r[0]
    z[0] ^= r[1]
    received = yield Exchange(to_previous=octets_of(z[0]), from_next=z[0].nbytes)
    z[1] = words_in(received.next, x.shape)
    seat.transcript.conjunctions(x.both, y.both, z, r)
    return SharedWords(z)


def choice(seat: Seat, condition: SharedWords, x: SharedWords, y: SharedWords) -> Dialogue[SharedWords]:
    """x where the condition is one, y elsewhere; the condition is one row for all rows of x and y."""
    repeated = SharedWords(np.broadcast_to(condition.both[:, None], x.both.shape))
    chosen = yield from conjunction(seat, repeated, x ^ y)
    return chosen ^ y


def product(seat: Seat, x: SharedElements, y: SharedElements) -> Dialogue[SharedElements]:
    """x times y, element by element."""
    kernel = seat.kernel
    r = seat.fresh(MASK).elements(kernel, x.count)
    lifted = np.stack([kernel.lift(component) for component in y.both])
    squares = kernel.multiply(lifted[0], x.both[0])
    crossed = kernel.add(kernel.multiply(lifted[1], x.both[0]), kernel.multiply(lifted[0], x.both[1]))
    own = kernel.add(kernel.add(squares, crossed), kernel.subtract(r[0], r[1]))
    received = yield Exchange(to_previous=pack_elements(own), from_next=own.nbytes)
    following = elements_in(seat.kernel, received.next, others(seat.server)[1])
    gamma = kernel.subtract(kernel.subtract(following, r[1]), kernel.multiply(lifted[1], x.both[1]))
    seat.transcript.products.append(
        ProductGates(
            alpha=np.stack([x.both[0], y.both[0]]),
            beta=np.stack([y.both[1], x.both[1]]),
            alpha_left=np.stack([x.both[1], y.both[1]]),
            gamma_left=gamma,
            beta_right=np.stack([y.both[0], x.both[0]]),
            gamma_right=r[0],
        )
    )
    return SharedElements(np.stack([own, following]))


def entered(kernel: Kernel, masks: StreamPair, additive: Words) -> Words:
    """RESHARE: a server's own component, of its additive shares of shape (limbs, count); the previous server is told."""
    r = masks.elements(kernel, additive.shape[1])
    return kernel.add(additive, kernel.subtract(r[0], r[1]))


def lanes(words: Words, count: int) -> Words:
    """The first lanes of each row of words, as a flat array of zeros and ones."""
    rows = np.ascontiguousarray(words.astype("<u8", copy=False)).reshape(-1, words.shape[-1])
    bits = np.unpackbits(rows.view(np.uint8), axis=1, bitorder="little", count=count)
    return bits.reshape(-1).astype(np.uint64)


def _as_elements(seat: Seat, bits: Words) -> Words:
    elements = np.zeros((seat.kernel.limbs, len(bits)), np.uint64)
    elements[0] = bits
    return elements


def _less_twice(seat: Seat, bits: Words, product_share: Words) -> Words:
    """b - 2 c: a component of the exclusive or."""
    kernel = seat.kernel
    return kernel.subtract(kernel.subtract(bits, product_share), product_share)


def to_field(seat: Seat, shared: SharedWords, count: int) -> Dialogue[SharedElements]:
    """The first `count` lanes of each row as field elements 0 and 1, row after row."""
    bits = [lanes(component, count) for component in shared.both]
    part = (_to_field_of_first, _to_field_of_second, _to_field_of_third)[seat.server]
    return (yield from part(seat, *bits))


def _to_field_of_first(seat: Seat, b_0: Words, b_1: Words) -> Dialogue[SharedElements]:
    """Server 0 knows b_0 and b_1, and proves b_0 b_1 = c_0 + c_1; it verifies servers 1 (left) and 2 (right)."""
    kernel, size = seat.kernel, 8 * seat.kernel.limbs * len(b_0)
    c_1 = seat.fresh(MASK).next.elements(kernel, len(b_0))
    c_0 = kernel.subtract(_as_elements(seat, b_0 & b_1), c_1)
    yield Exchange(to_previous=pack_elements(c_0))
    t_0 = _less_twice(seat, _as_elements(seat, b_0), c_0)
    t_1 = _less_twice(seat, _as_elements(seat, b_1), c_1)
    received = yield Exchange(from_next=size, from_previous=size)
    d_1, d_0 = elements_in(seat.kernel, received.next, 1), elements_in(seat.kernel, received.previous, 2)
    own = _as_elements(seat, b_0), _as_elements(seat, b_1)
    _note_product(seat, own, (t_1, d_1), (t_0, d_0))
    return SharedElements(np.stack([_less_twice(seat, t_0, d_0), _less_twice(seat, t_1, d_1)]))


def _to_field_of_second(seat: Seat, b_1: Words, b_2: Words) -> Dialogue[SharedElements]:
    """Server 1 proves t_1 b_2 = d_1 + m; it verifies servers 2 (left) and 0 (right)."""
    kernel = seat.kernel
    c_1 = seat.fresh(MASK).own.elements(kernel, len(b_1))
    yield Exchange()
    one, two = _as_elements(seat, b_1), _as_elements(seat, b_2)
    t_1 = _less_twice(seat, one, c_1)
    m, other = (seat.fresh(MASK).next.elements(kernel, len(b_1)) for _ in range(2))
    d_1 = kernel.subtract(t_1 * b_2, m)
    yield Exchange(to_previous=pack_elements(d_1))
    _note_product(seat, (t_1, two), (two, other), (one, c_1))
    return SharedElements(
        np.stack([_less_twice(seat, t_1, d_1), _less_twice(seat, two, kernel.add(m, other))])
    )


def _to_field_of_third(seat: Seat, b_2: Words, b_0: Words) -> Dialogue[SharedElements]:
    """Server 2 proves t_0 b_2 = d_0 + m'; it verifies servers 0 (left) and 1 (right)."""
    kernel, size = seat.kernel, 8 * seat.kernel.limbs * len(b_0)
    received = yield Exchange(from_next=size)
    c_0 = elements_in(seat.kernel, received.next, 0)
    zero, two = _as_elements(seat, b_0), _as_elements(seat, b_2)
    t_0 = _less_twice(seat, zero, c_0)
    m, other = (seat.fresh(MASK).own.elements(kernel, len(b_0)) for _ in range(2))
    d_0 = kernel.subtract(t_0 * b_2, other)
    yield Exchange(to_next=pack_elements(d_0))
    _note_product(seat, (two, t_0), (zero, c_0), (two, m))
    return SharedElements(
        np.stack([_less_twice(seat, two, kernel.add(m, other)), _less_twice(seat, t_0, d_0)])
    )


_Known = tuple[Words, Words]


def _note_product(seat: Seat, prover: _Known, left: _Known, right: _Known) -> None:
    """Statements of one pair: both factors of the prover, a factor and a part of the product of each verifier."""
    seat.transcript.products.append(
        ProductGates(prover[0][None], prover[1][None], left[0][None], left[1], right[0][None], right[1])
    )


def opened_words(seat: Seat, shared: SharedWords) -> Dialogue[Words]:
    """The secret words, to all three servers: each gets its missing component from one, and a hash of it from the other."""
    if not seat.transcript.is_empty:
        raise ComputationAborted("what is not verified is not opened")
    own, following = (octets_of(component) for component in shared.both)
    received = yield Exchange(
        to_previous=following,
        to_next=digest(seat.attempt.tag, own),
        from_next=len(own),
        from_previous=DIGEST_BYTES,
    )
    if digest(seat.attempt.tag, received.next) != received.previous:
        raise seat.aborted("an opened component came in two versions")
    return np.asarray(shared.both[0] ^ shared.both[1] ^ words_in(received.next, shared.shape))
