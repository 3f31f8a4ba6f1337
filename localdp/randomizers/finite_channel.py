"""Any finite local randomizer, given by its matrix: Definition 12.1 in full generality.

Row x of the matrix holds integer weights: R(x) = y with probability M[x, y] / total, the same total <= 2**64 for all
rows.

Claim.  exp(epsilon) is the largest M[x, y] / M[x', y]: it is computed from the integers when the channel is made, and a
channel in which an output of one input is impossible for another has no epsilon and is refused.

Estimator.  The channel is identifiable when its rows are linearly independent.  Then, with D the output probabilities
of uniform data, the decoder G = D**-1 M' (M D**-1 M')**-1 satisfies M G = 1, so that (shares of outputs) G is unbiased
for the frequencies; among all decoders it has the least total variance on uniform data.  With s the shares,
n Var f(x) = s G[:, x]**2 - f(x) for the empirical target, and s G[:, x]**2 - f(x)**2 for the population.

Checked exactly, by enumerating the coins, in tests/unit/randomizers/test_finite_channel.py.
"""

from __future__ import annotations

import hashlib
from collections.abc import Hashable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from math import log2
from typing import Self

import numpy as np

from localdp.accounting.epsilon import Epsilon
from localdp.errors import InvalidParameter
from localdp.randomizers.definition import DrawCost, Floats, Frequencies, Parameters, Reports, Tally, Values
from localdp.randomizers.parts.construction import IntegerReports
from localdp.randomizers.parts.inputs import checked_inputs, input_counts, require_between, require_own
from localdp.randomizers.parts.packing import (
    Unsigned,
    count_integers,
    unsigned_type,
)
from localdp.randomness.fixed_search import FixedSearch
from localdp.randomness.source import WORD_RANGE, RandomSource

MOST_INPUTS = 256
MOST_OUTPUTS = 4096
# A decoder that misses M G = 1 by more is useless, and its channel as good as singular.
_LARGEST_RESIDUAL = 1e-9


@dataclass(frozen=True, slots=True)
class FiniteChannel(IntegerReports):
    """Reports an output of 0 .. outputs - 1, drawn from the row of the input."""

    matrix: tuple[tuple[int, ...], ...]
    _ratio: Fraction = field(init=False, repr=False, compare=False)  # exp(epsilon)
    _digest: str = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        _require_shape(self.matrix)
        _require_weights(self.matrix)
        ratio = max(Fraction(max(column), min(column)) for column in zip(*self.matrix, strict=True))
        object.__setattr__(self, "_ratio", ratio)
        object.__setattr__(self, "_digest", hashlib.sha256(repr(self.matrix).encode()).hexdigest())

    def __hash__(self) -> int:
        return hash(self._digest)  # hashing a million weights each time would be slow

    @property
    def epsilon(self) -> Epsilon:
        """Privacy loss of one report, in nats, replace-one neighbours; what the matrix has, rounded up."""
        return Epsilon.of_ratio(self._ratio)

    @property
    def inputs(self) -> int:
        """The rows."""
        return len(self.matrix)

    @property
    def outputs(self) -> int:
        """The columns."""
        return len(self.matrix[0])

    @property
    def total(self) -> int:
        """The denominator of every probability."""
        return sum(self.matrix[0])

    @property
    def canonical(self) -> str:
        """Name and size, and the matrix by its SHA-256 digest."""
        return f"finite-channel(inputs={self.inputs},outputs={self.outputs},sha256={self._digest})"

    @property
    def draw_cost(self) -> DrawCost:
        """A table of the law for each part, and a search in it."""
        return DrawCost(200 + 0.12 * self.inputs * self.outputs, 60 + 16 * log2(self.outputs))

    @property
    def parameters(self) -> Parameters:
        """The weights, row by row."""
        return {"rows": tuple({"weights": row} for row in self.matrix)}

    @classmethod
    def from_parameters(cls, parameters: Parameters) -> Self:
        """The channel of these rows."""
        return cls(tuple(tuple(row["weights"]) for row in parameters["rows"]))

    def randomize(self, values: Values, source: RandomSource) -> Unsigned:
        """One output for each value: everybody draws one integer below the total, and finds it in fixed work."""
        truth = checked_inputs(values, self.inputs)
        drawn = source.below(self.total, len(truth))
        return _search(self).steps(drawn, truth).astype(unsigned_type(self.report_bits))

    def law(self, value: int) -> dict[Hashable, Fraction]:
        """The exact law of the report."""
        return {output: Fraction(weight, self.total) for output, weight in enumerate(self.matrix[value])}

    def tally(self, reports: Reports) -> Tally:
        """How many reports are each of the outputs."""
        return Tally(self, len(reports), input_counts(reports, self.outputs))

    def tally_packed(self, data: bytes, count: int) -> Tally:
        """The tally of packed reports."""
        return Tally(self, count, count_integers(data, count, self.report_bits, self.outputs))

    def estimate(self, tally: Tally) -> Frequencies:
        """Unbiased estimate of the frequency of every input; refused if the channel is not identifiable."""
        require_own(tally, self)
        decoder = self.decoder()
        shares = tally.sums / tally.reports
        values, squares = shares @ decoder, shares @ decoder**2
        empirical = np.maximum(squares - values, 0.0) / tally.reports
        population = np.maximum(squares - values**2, 0.0) / tally.reports
        return Frequencies(values, tally.reports, empirical, population)

    def variance(self, frequency: float) -> float:
        """n times the variance of the estimate of an input of this frequency, for the empirical target.

        It depends on which input, and on the other people's: this is the largest (in a symmetric channel, all).
        """
        variances = self._probabilities() @ self.decoder() ** 2 - np.eye(self.inputs)
        own = np.diag(variances)
        others = np.max(variances - np.diag(np.full(self.inputs, np.inf)), axis=0)
        return float(np.max(frequency * own + (1 - frequency) * others))

    def decoder(self) -> Floats:
        """G, with a row for each output and a column for each input."""
        probabilities = self._probabilities()
        weighted = probabilities / probabilities.mean(axis=0)
        gram = weighted @ probabilities.T
        try:
            decoder: Floats = np.linalg.solve(gram, weighted).T
        except np.linalg.LinAlgError:
            decoder = np.full((self.outputs, self.inputs), np.inf)
        with np.errstate(invalid="ignore", over="ignore"):
            residual = np.abs(probabilities @ decoder - np.eye(self.inputs)).max()
        if not residual <= _LARGEST_RESIDUAL:
            raise InvalidParameter(
                "the frequencies of the inputs are not identifiable from this channel's outputs"
            )
        return decoder

    def _probabilities(self) -> Floats:
        return np.array([[weight / self.total for weight in row] for row in self.matrix])


@lru_cache(maxsize=8)
def _search(channel: FiniteChannel) -> FixedSearch:
    # The last cumulative weight of a row is never reached, and may be 2**64, which no word holds.
    return FixedSearch([list(accumulate(row[:-1])) for row in channel.matrix], channel.total)


def _require_shape(matrix: tuple[tuple[int, ...], ...]) -> None:
    if not isinstance(matrix, tuple) or not all(isinstance(row, tuple) for row in matrix):
        raise InvalidParameter("a channel is a tuple of rows, each a tuple of integer weights")
    require_between("the number of inputs", len(matrix), 2, MOST_INPUTS)
    require_between("the number of outputs", len(matrix[0]), 2, MOST_OUTPUTS)
    if any(len(row) != len(matrix[0]) for row in matrix):
        raise InvalidParameter("the rows of a channel are of the same length")


def _require_weights(matrix: tuple[tuple[int, ...], ...]) -> None:
    if any(type(weight) is not int for row in matrix for weight in row):
        raise InvalidParameter("the weights of a channel are integers")
    if any(weight < 1 for row in matrix for weight in row):
        raise InvalidParameter(
            "every output of a channel is possible for every input; else it has no epsilon"
        )
    if len({sum(row) for row in matrix}) > 1 or sum(matrix[0]) > WORD_RANGE:
        raise InvalidParameter("the rows of a channel have the same total, at most 2**64")
