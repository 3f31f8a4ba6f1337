"""Reports over time: a permanent answer for each value, randomized anew in every report (Erlingsson et al. 2014).

Asked again and again, a person who randomizes afresh each time is averaged out.  So the answer to a value is drawn once
(the permanent round, epsilon_permanent) and kept; each report is that answer after a second, fresh randomization (the
instantaneous round).  Two guarantees, both of the integer law, replace-one neighbours, in nats:

- any number of reports about a value that stays costs at most epsilon_permanent;
- one report alone costs `epsilon`, which is smaller: whoever sees one report learns no more.

Unary encodings (Arcolezi et al. 2022): the permanent round is a unary encoding with supports p and q, and the second
flips every bit with probability F / 2**64, so that a report has the supports p' = p + F (1 - 2 p), q' = q + F (1 - 2
q).

    symmetric, then symmetric (L-SUE)    n Var = that of one symmetric encoding of `epsilon`
    optimized, then symmetric (L-OSUE)   n Var = 4 e / (e - 1)**2 + f (1 - p' - q') / (p' - q'), e = exp(epsilon)

at f = 0 exactly that of a fresh optimized encoding of `epsilon`: memory costs no accuracy.

A value that changes is another matter: answers that are kept beyond a change show that there was one, at no bounded
loss, whatever the number of distinct values.  **Deviation** from the sources, which book epsilon_permanent for each
distinct value: a party books it for each epoch, in which values stay, and puts the epoch into the description below, so
that nothing permanent outlives it (tests/unit/auditing/test_histories.py enumerates both).

No state is kept.  The permanent coins of person i and value v are lane i * inputs + v of a keystream under a key
derived from the party's secret and the description of the collection: the same person and value always give the same
answer, different ones share no coin (`lanes.py`).  **Deviation** from the sources, which store the answers: nothing
can be lost or rolled back, and a party that loses its secret only starts over.  Values choose lanes, and the work
depends on the number of people alone (`LanedSource.of_choices`).
Checked exactly, by enumerating the coins, in tests/unit/randomizers/test_memoised.py.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar, Protocol, Self, TypeGuard

import numpy as np
from numpy.typing import NDArray

from localdp.accounting.epsilon import Epsilon
from localdp.errors import InvalidParameter
from localdp.randomizers.definition import DrawCost, LocalRandomizer, Parameters, Reports, Values
from localdp.randomizers.parts.inputs import checked_inputs, require_between
from localdp.randomizers.parts.pure_protocol import Support
from localdp.randomizers.unary import (
    MOST_INPUTS,
    OptimizedUnaryEncoding,
    PackedBits,
    SymmetricUnaryEncoding,
    UnaryEncoding,
)
from localdp.randomness.enclosures import exp_enclosure
from localdp.randomness.keys import derive_key
from localdp.randomness.lanes import LARGEST_LANE, LanedSource
from localdp.randomness.source import WORD_RANGE, Integers, RandomSource

_ENCLOSURE_BITS = 192
# Bits of each person that are drawn in one call; must not depend on how many people there are.
_COLUMNS = 64


@dataclass(frozen=True, slots=True)
class PermanentCoins:
    """The coins of all permanent answers of one collection, derived from the party's secret."""

    secret: bytes = field(repr=False)
    description: bytes  # of what is collected: the query, and the randomizer

    def source(self, people: Integers, choices: Values, number: int) -> LanedSource:
        """For each person, the coins that belong to its choice among 0 .. number - 1."""
        if len(people) and not 0 <= int(people.min()) <= int(people.max()) <= LARGEST_LANE // number - 1:
            raise InvalidParameter(f"people are numbered from 0 to {LARGEST_LANE // number - 1}")
        key = derive_key(self.secret, b"permanent answers", self.description, number.to_bytes(8, "big"))
        return LanedSource.of_choices(key, people, choices.astype(np.int64), number)


class MemoisedRandomizer(LocalRandomizer, Protocol):
    """A randomizer in two rounds: a permanent answer, and a fresh report of it."""

    @property
    def epsilon_permanent(self) -> Epsilon:
        """Privacy loss of one permanent answer, hence of any number of reports of it."""
        ...

    def permanent_answers(self, people: Integers, values: Values, coins: PermanentCoins) -> Reports:
        """The answers that these people always give to these values; no person twice."""
        ...

    def renew(self, answers: Reports, source: RandomSource) -> Reports:
        """A fresh report of each permanent answer."""
        ...


def is_memoised(randomizer: LocalRandomizer) -> TypeGuard[MemoisedRandomizer]:
    """Whether it has permanent answers, which is what it says itself."""
    return randomizer.memoised


def epsilon_charged(randomizer: LocalRandomizer) -> Epsilon:
    """What a person pays for an epoch of reports: of permanent answers, any number together; else, each of them."""
    return randomizer.epsilon_permanent if is_memoised(randomizer) else randomizer.epsilon


class Memo:
    """A party's memory of one collection: permanent answers that need not be stored."""

    def __init__(self, randomizer: MemoisedRandomizer, secret: bytes, description: bytes) -> None:
        self.randomizer = randomizer
        described = description + b"\0" + randomizer.canonical.encode()
        self._coins = PermanentCoins(secret, described)

    def answers(self, people: Integers, values: Values) -> Reports:
        """The permanent answers; not for sending, but for looking at in tests."""
        if len(people) != len(values):
            raise InvalidParameter("there is one value for each person")
        return self.randomizer.permanent_answers(people, values, self._coins)

    def report(self, people: Integers, values: Values, source: RandomSource) -> Reports:
        """One report for each person about its present value, from fresh coins."""
        return self.randomizer.renew(self.answers(people, values), source)


@dataclass(frozen=True, slots=True)
class MemoisedUnary(UnaryEncoding):
    """A unary encoding whose bits are kept, and flipped with probability F / 2**64 in each report.

    `requested` is for one report; `flip` is F, the smallest that keeps to it.
    """

    memoised: ClassVar[bool] = True
    name: ClassVar[str] = "memoised"
    permanent: UnaryEncoding

    def __post_init__(self) -> None:
        Epsilon.requested(self.requested)
        require_between("the number of inputs", self.inputs, 2, MOST_INPUTS)
        if self.inputs != self.permanent.inputs or self.requested >= self.permanent.requested:
            raise InvalidParameter(
                "one report is about the same inputs as the permanent answer, and costs less than it"
            )

        def allowed(flip: int) -> bool:
            return exceeds_nowhere(_unary_ratio(_flipped(self.permanent.support, flip)), self.requested)

        object.__setattr__(self, "flip", smallest(allowed, WORD_RANGE // 2))
        if self.support.own <= self.support.other:
            raise InvalidParameter("this epsilon is too small for this encoding")

    @property
    def support(self) -> Support:
        """Of one report, both rounds together."""
        return _flipped(self.permanent.support, self.flip)

    @property
    def canonical(self) -> str:
        """Name and parameters as text."""
        return f"memoised(epsilon={self.requested},permanent={self.permanent.canonical})"

    @property
    def epsilon_permanent(self) -> Epsilon:
        return self.permanent.epsilon

    @property
    def draw_cost(self) -> DrawCost:
        """Lanes by value: coins of the other values are passed over."""
        inputs = self.inputs
        return DrawCost(200 + inputs, 260 * inputs + 0.25 * inputs**2, 2 * inputs)

    @property
    def parameters(self) -> Parameters:
        """Both epsilons, and which encoding the first round is."""
        return {
            "epsilon_nanonats": self.requested.nanonats,
            "inputs": self.inputs,
            "permanent_nanonats": self.permanent.requested.nanonats,
            "optimized": isinstance(self.permanent, OptimizedUnaryEncoding),
        }

    @classmethod
    def from_parameters(cls, parameters: Parameters) -> Self:
        """The encoding again, with the one that is remembered."""
        encoding = OptimizedUnaryEncoding if parameters["optimized"] else SymmetricUnaryEncoding
        inputs, permanent = parameters["inputs"], Epsilon(parameters["permanent_nanonats"])
        return cls(Epsilon(parameters["epsilon_nanonats"]), inputs, encoding(permanent, inputs))

    def randomize(self, values: Values, source: RandomSource) -> PackedBits:
        """The first report of each value, both rounds from one source."""
        return self.renew(self.permanent.randomize(values, source), source)

    def permanent_answers(self, people: Integers, values: Values, coins: PermanentCoins) -> PackedBits:
        """The bits that these people keep for these values."""
        truth = checked_inputs(values, self.inputs)
        return self.permanent.randomize(truth, coins.source(people, truth, self.inputs))

    def renew(self, answers: Reports, source: RandomSource) -> PackedBits:
        """Every bit flipped with probability F / 2**64."""
        flips = np.empty(answers.shape, np.uint8)
        for start in range(0, self.inputs, _COLUMNS):
            columns = min(_COLUMNS, self.inputs - start)
            bits = source.bernoulli(self.flip, len(answers) * columns).reshape(-1, columns)
            flips[:, start // 8 : (start + columns + 7) // 8] = np.packbits(bits, axis=1)
        renewed: NDArray[np.uint8] = answers ^ flips
        return renewed


def memoised_symmetric_unary(permanent: Epsilon, first: Epsilon, inputs: int) -> MemoisedUnary:
    """L-SUE: `permanent` for all reports of a value together, `first` for one."""
    return MemoisedUnary(first, inputs, SymmetricUnaryEncoding(permanent, inputs))


def memoised_optimized_unary(permanent: Epsilon, first: Epsilon, inputs: int) -> MemoisedUnary:
    """L-OSUE: `permanent` for all reports of a value together, `first` for one."""
    return MemoisedUnary(first, inputs, OptimizedUnaryEncoding(permanent, inputs))


def exceeds_nowhere(ratio: Fraction, epsilon: Epsilon) -> bool:
    """Whether the ratio is at most exp(epsilon), decided against us within the precision of the enclosure."""
    lower, _ = exp_enclosure(epsilon.exact, _ENCLOSURE_BITS)
    return ratio.numerator << _ENCLOSURE_BITS <= lower * ratio.denominator


def smallest(allowed: Callable[[int], bool], enough: int) -> int:
    """The smallest integer from 0 to `enough` that is allowed, if all above an allowed one are."""
    low, high = 0, enough
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if allowed(middle) else (middle + 1, high)
    return low


def _flipped(support: Support, flip: int) -> Support:
    """The supports after every bit is flipped with probability flip / 2**64."""
    share = Fraction(flip, WORD_RANGE)
    own, other = (kept + share * (1 - 2 * kept) for kept in (support.own, support.other))
    return Support(own, other)


def _unary_ratio(support: Support) -> Fraction:
    return support.own * (1 - support.other) / ((1 - support.own) * support.other)
