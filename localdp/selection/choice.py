"""The frequency oracle of least error that meets all wishes, with the reasons.

Definition.  Of each family the eligible member of least exact n Var is a candidate, and the candidate of least n Var is
chosen; between equals the simpler one, in the order of `candidates.FAMILIES`.  Subset selection is the optimum at every d
(Ye and Barg 2018), but its reports are long sets: it is eligible up to 128 inputs, or for sets of up to 32 items.

Claim.  For d from 2 to 65536 and epsilon from 0.1 to 5 the mean n Var of what is chosen without further wishes is at most
1.025 times that of subset selection, by the exact formula of the latter at any d.
Checked in tests/unit/selection/test_choose.py.

**Deviation** from the usual advice to answer linear queries by one-bit Hadamard response, and by others for larger epsilon:
`recursive_hadamard.py` has the same spectrum for b bits, its estimates have pairwise uncorrelated noise all the same, and
some b is within 3 % of the optimum for every epsilon.  So the best b is taken, at every epsilon.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

from localdp.accounting.epsilon import Epsilon
from localdp.errors import InvalidParameter
from localdp.randomizers.projective_geometry import LARGEST_INPUTS as LARGEST_DECODED
from localdp.randomizers.subset_selection import best_size, support_of
from localdp.selection.candidates import FAMILIES, Candidate, Family, Randomizer
from localdp.selection.wishes import Target, Wishes

MOST_INPUTS_OF_ROWS = 128  # up to here a bit, or a place in a set, for every input is cheap
MOST_ITEMS_OF_A_SET = 32
_SPECTRAL = ("recursive-hadamard", "hadamard")


@dataclass(frozen=True, slots=True)
class Choice:
    """What was chosen, everything that it was chosen from, and why."""

    wishes: Wishes
    chosen: Candidate
    candidates: tuple[Candidate, ...]
    optimum: float  # 4 e / (e - 1)**2: the best n Var for large domains
    subset_variance: float  # n Var of subset selection at the same target, offered or not

    @property
    def randomizer(self) -> Randomizer:
        """The chosen randomizer."""
        assert self.chosen.randomizer is not None
        return self.chosen.randomizer

    def standard_error(self, candidate: Candidate) -> float:
        """The standard error of one frequency at the wished number of people."""
        return math.sqrt(candidate.variance / self.wishes.people)

    @property
    def reason(self) -> str:
        """The choice in words."""
        eligible = sum(not candidate.excluded for candidate in self.candidates)
        among = (
            f"the least error of {eligible} that qualify" if eligible > 1 else "the only one that qualifies"
        )
        error = f"standard error {self.standard_error(self.chosen):.2g} of a frequency"
        parts = [f"{_named(self.chosen)}: {among}; {error} with {self.wishes.people:,} people"]
        better = min(self.candidates, key=lambda candidate: candidate.variance)
        if better.variance < self.chosen.variance:
            gain = _per_cent(1 - better.variance / self.chosen.variance)
            parts.append(f"{_named(better)} has {gain} less variance, but {better.excluded}")
        return "; ".join(parts)

    def rows(self) -> list[dict[str, object]]:
        """The table of candidates, as plain data."""
        return [self._row(candidate) for candidate in self.candidates]

    def to_data(self) -> dict[str, object]:
        """Everything, as plain data."""
        return {
            "chosen": self.randomizer.canonical,
            "reason": self.reason,
            "epsilon": str(self.randomizer.epsilon),
            "target": self.wishes.target,
            "people": self.wishes.people,
            "inputs": self.wishes.inputs,
            "optimum": self.optimum,
            "candidates": self.rows(),
        }

    def _row(self, candidate: Candidate) -> dict[str, object]:
        head = {
            "name": candidate.family,
            "parameters": candidate.parameters,
            "chosen": candidate is self.chosen,
            "excluded": candidate.excluded or None,
        }
        if candidate.randomizer is None:
            return head
        return head | {
            "canonical": candidate.randomizer.canonical,
            "n_variance": candidate.variance,
            "standard_error": self.standard_error(candidate),
            "ratio_to_optimum": candidate.variance / self.optimum,
            "ratio_to_subset_selection": candidate.variance / self.subset_variance,
            "private_bits": candidate.private_bits,
            "report_bits": candidate.report_bits,
            "decode_seconds": candidate.decode_seconds,
        }


def choose(
    inputs: int,
    epsilon: Epsilon | Fraction | float | str,
    people: int,
    *,
    bits: int | None = None,
    additive: bool = False,
    open_domain: bool = False,
    linear_post: bool = False,
    decode_seconds: float | None = None,
    target: Target = "distribution",
) -> Choice:
    """The frequency oracle of least exact error for these inputs, this epsilon of one report and so many people.

    - `bits`: at most so many private bits a report; public ones are free.
    - `additive`: reports must add up before they are decoded (shares, shufflers).
    - `open_domain`: the items are not known beforehand; `inputs` is then the length of the list of candidates.
    - `linear_post`: sums, marginals or prefixes are read off a Walsh spectrum.
    - `decode_seconds`: an estimate of the aggregator's work must not exceed this.
    - `target`: the mean error over all inputs on uniform data, or that of an item which nobody has.
    """
    wishes = Wishes(
        Epsilon.requested(epsilon),
        inputs,
        people,
        bits,
        additive,
        open_domain,
        linear_post,
        decode_seconds,
        target,
    )
    return choice_of(wishes)


def choice_of(wishes: Wishes) -> Choice:
    """The same, from the wishes as one object."""
    candidates = tuple(_best_of(family, wishes) for family in FAMILIES)
    eligible = [candidate for candidate in candidates if not candidate.excluded]
    if not eligible:
        reasons = "; ".join(f"{candidate.family}: {candidate.excluded}" for candidate in candidates)
        raise InvalidParameter(f"no frequency oracle meets all of these wishes ({reasons})")
    chosen = min(eligible, key=lambda candidate: candidate.variance)
    optimum = 1 / math.sinh(float(wishes.epsilon) / 2) ** 2
    return Choice(wishes, chosen, candidates, optimum, subset_selection_variance(wishes))


def subset_selection_variance(wishes: Wishes) -> float:
    """n Var of subset selection at the target, by its exact formula, for any number of inputs."""
    try:
        size = best_size(wishes.epsilon, wishes.inputs)
    except InvalidParameter:  # an epsilon below the precision of the thresholds
        return float("inf")
    return support_of(wishes.epsilon, wishes.inputs, size).variance(wishes.frequency)


def _best_of(family: Family, wishes: Wishes) -> Candidate:
    """The best eligible member; if there is none the best of all, with the reason against it."""
    try:
        members = list(family.members(wishes.epsilon, wishes.inputs))
        if not members:
            raise InvalidParameter("no member has so many inputs")
        found = [
            family.candidate(member, wishes.inputs, wishes.people, wishes.frequency) for member in members
        ]
    except InvalidParameter as error:
        return Candidate(family.name, None, excluded=str(error))
    judged = [replace(candidate, excluded=why_not(candidate, wishes)) for candidate in found]
    return min(judged, key=lambda candidate: (bool(candidate.excluded), candidate.variance))


def why_not(candidate: Candidate, wishes: Wishes) -> str:
    """The first wish that the candidate does not meet; empty if it meets all."""
    family = candidate.family
    if wishes.open_domain and family != "local-hashing":
        return "it needs a closed domain"
    if wishes.additive and family != "optimized-unary":
        return "its reports do not add up before decoding"
    if wishes.linear_post and family not in _SPECTRAL:
        return "it is not decoded through a spectrum"
    if wishes.bits is not None and candidate.private_bits > wishes.bits:
        return f"a report has {candidate.private_bits} private bits"
    if wishes.decode_seconds is not None and candidate.decode_seconds > wishes.decode_seconds:
        return f"decoding takes about {candidate.decode_seconds:.2g} s"
    return _too_much_work(candidate, wishes)


def _too_much_work(candidate: Candidate, wishes: Wishes) -> str:
    """Standing rules: what would be a poor choice, whatever the wishes."""
    if candidate.family == "local-hashing" and not wishes.open_domain and wishes.inputs <= LARGEST_DECODED:
        return "it hashes every pair of a report and an input"
    if wishes.inputs <= MOST_INPUTS_OF_ROWS:
        return ""
    if (
        candidate.family == "subset-selection"
        and getattr(candidate.randomizer, "size", 0) > MOST_ITEMS_OF_A_SET
    ):
        return f"its sets have more than {MOST_ITEMS_OF_A_SET} items"
    if candidate.family == "optimized-unary" and not wishes.additive:
        return f"its reports have {candidate.report_bits} bits"
    return ""


def _named(candidate: Candidate) -> str:
    return f"{candidate.family} ({candidate.parameters})" if candidate.parameters else candidate.family


def _per_cent(share: float) -> str:
    return f"{100 * share:.2g} %"
