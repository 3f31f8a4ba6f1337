"""Overfitting by asking: questions that depend on answers find what is true of the sample alone (section 13.2).

Everybody has k fair bits and a fair label; none has anything to do with another.  The analyst asks of each bit how often
it agrees with the label, takes it or its opposite, whichever agrees more often, and asks how often the majority of all
is right.  About the population the truth is one half.  Exact answers say Phi(sqrt(2 k / (pi n))): each bit leads by
chance, and the vote adds all leads up (Dwork, Feldman, Hardt, Pitassi, Reingold and Roth 2015).

Claim (`most_believed`).  Where the question is chosen by epsilon-private answers, its mean over those who were asked is on
average at most tanh(epsilon / 2) away from that over others: replacing one of them changes the law of the question by
no more than that in total variation.  Fresh people for the second round bring it to 0.
Both rounds are statistical queries, so parties can be asked under any trust model.
Checked in tests/unit/attacks/test_overfitting.py.
"""

from __future__ import annotations

import math
from statistics import NormalDist

from localdp.domains import BitDomain, Records, Schema
from localdp.errors import InvalidParameter
from localdp.oracles.definition import StatisticalQueryOracle
from localdp.randomness.source import Bits

LABEL = "label"


def labelled_people(bits: Bits, label: Bits) -> Records:
    """People with bits b0, b1, ... and a label."""
    if bits.ndim != 2 or bits.shape[0] != len(label):
        raise InvalidParameter("there is a row of bits and a label of everybody")
    columns = {f"b{place}": bits[:, place] for place in range(bits.shape[1])}
    return Records(
        Schema({**dict.fromkeys(columns, BitDomain()), LABEL: BitDomain()}), {**columns, LABEL: label}
    )


def believed(oracle: StatisticalQueryOracle) -> float:
    """How often the vote of the bits is right about the label, as the answers say: two rounds."""
    view = oracle.in_rounds(2)
    return view.answer([asked_vote(view)])[0].value


def asked_vote(oracle: StatisticalQueryOracle) -> str:
    """Ask how often each bit agrees with the label, and let each vote as it agrees more often."""
    names = [name for name in oracle.schema.names if name != LABEL]
    answers = oracle.answer([f"not parity({name}, {LABEL})" for name in names])
    return vote(names, [answer.value >= 0.5 for answer in answers])


def vote(names: list[str], agrees: list[bool]) -> str:
    """The question whether the majority of bits, some of them turned round, is the label."""
    form = " ".join(f"{'+' if one else '-'} {name}" for name, one in zip(names, agrees, strict=True))
    middle = (2 * sum(agrees) - len(names)) / 2
    return f"not parity({form.removeprefix('+ ')} > {middle:g}, {LABEL})"


def expected_belief(questions: int, people: int) -> float:
    """What exact answers say, where the truth is one half."""
    return NormalDist().cdf(math.sqrt(2 * questions / (math.pi * people)))


def most_believed(epsilon: float) -> float:
    """What private answers say at most, on average, where the truth is one half."""
    return min(1.0, 0.5 + math.tanh(epsilon / 2))
