"""TurboSHAKE128 of many messages that differ in a few places only: the streams of XofTurboShake128 for a block of reports.

A message is a template, already padded to whole blocks, in which up to three pieces differ from report to report: the seed,
the nonce and a payload.  `derivations` makes the templates.  The output is words; whether they are elements of a
field is for the caller to check.

Checked against the reference in tests/unit/sharing/prio3/test_compiled_sponge.py.
"""

import numpy as np

from localdp.sharing.prio3.batch.compiled.permutation import STATES, permute
from localdp.sharing.prio3.batch.compiled.signatures import GIVEN, MATRIX, VECTOR
from localdp.sharing.prio3.batch.compiled.toolchain import part, types
from localdp.sharing.prio3.batch.compiled.words import ZERO, put_word
from localdp.sharing.prio3.batch.words import Words
from localdp.sharing.prio3.keccak import LANES, RATE

RATE_WORDS = RATE // 8
STREAMS = types.void(VECTOR, GIVEN, types.int64, GIVEN, types.int64, GIVEN, types.int64, MATRIX)


def streams(
    template: Words,
    seeds: Words,
    seed_at: int,
    nonces: Words,
    nonce_at: int,
    payloads: Words,
    payload_at: int,
    out: Words,
) -> None:
    """Fills each row of `out` with the stream of its message."""
    length, count = len(template), len(out)
    messages = np.empty(STATES * length, np.uint64)
    for s in range(STATES):
        for i in range(length):
            messages[s * length + i] = template[i]
    states = np.empty(STATES * LANES, np.uint64)
    for first in range(0, count, STATES):
        for s in range(STATES):
            row = min(first + s, count - 1)  # Where reports run out, the last one fills the place.
            start = 8 * s * length
            _place(messages, start + seed_at, seeds, row)
            _place(messages, start + nonce_at, nonces, row)
            _place(messages, start + payload_at, payloads, row)
        _absorb(states, messages, length)
        _squeeze(states, out, first)


@part
def _place(messages: Words, octet: int, pieces: Words, row: int) -> None:
    for i in range(pieces.shape[1]):
        put_word(messages, octet + 8 * i, pieces[row, i])


@part
def _absorb(states: Words, messages: Words, length: int) -> None:
    for i in range(STATES * LANES):
        states[i] = ZERO
    for start in range(0, length, RATE_WORDS):
        for i in range(RATE_WORDS):
            for s in range(STATES):
                states[STATES * i + s] ^= messages[s * length + start + i]
        _permute(states)


@part
def _permute(states: Words) -> None:
    permute(states)  # Long, so that there should be one copy of it only.


@part
def _squeeze(states: Words, out: Words, first: int) -> None:
    size, rows = out.shape[1], min(STATES, len(out) - first)
    for start in range(0, size, RATE_WORDS):
        if start:
            _permute(states)
        for s in range(rows):
            for i in range(min(RATE_WORDS, size - start)):
                out[first + s, start + i] = states[STATES * i + s]
