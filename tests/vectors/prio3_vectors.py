"""Vectors for Prio3, in the schema of the published ones: those of the draft where they are, and always our own.

The published ones are looked for in the directory that LOCALDP_VDAF_VECTORS names, else in ../shared/vdaf beside the
project.  Our own come from `naive_prio3`, good ones and ones with a share that was tampered with.  A run says at its end
which ones it had; a variable that names a directory without vectors fails it.
"""

import json
import os
from functools import cache
from pathlib import Path
from typing import Any

from tests.vectors.naive_prio3 import Naive

ROOT = Path(__file__).resolve().parents[2]
KEY, CONTEXT = bytes(range(32)), b"a context of our own"
GOOD: dict[str, tuple[Naive, list[Any]]] = {
    "Prio3Count_own": (Naive("Count", 2), [1, 0, 1]),
    "Prio3Count_own_5_shares": (Naive("Count", 5), [1]),
    "Prio3Sum_own": (Naive("Sum", 2, max_measurement=10), [0, 7, 10]),
    "Prio3Sum_own_one_bit": (Naive("Sum", 3, max_measurement=1), [1, 0]),
    "Prio3SumVec_own": (
        Naive("SumVec", 2, length=3, max_measurement=5, chunk_length=4),
        [[0, 3, 5], [5, 5, 1]],
    ),
    "Prio3Histogram_own": (Naive("Histogram", 3, length=5, chunk_length=2), [4, 0]),
    "Prio3Histogram_own_chunk_too_long": (Naive("Histogram", 2, length=3, chunk_length=5), [2]),
    "Prio3MultihotCountVec_own": (
        Naive("MultihotCountVec", 2, length=5, max_weight=3, chunk_length=3),
        [[0, 1, 1, 0, 1], [0, 0, 0, 0, 0]],
    ),
}
# Which byte of which message of the report is changed.
BAD: dict[str, tuple[str, str, int, int]] = {
    "Prio3Count_own_bad_measurement": ("Prio3Count_own", "input_shares", 0, 0),
    "Prio3Count_own_bad_wire_seed": ("Prio3Count_own", "input_shares", 0, 8),
    "Prio3Count_own_bad_gadget_polynomial": ("Prio3Count_own", "input_shares", 0, 32),
    "Prio3Count_own_bad_helper_seed": ("Prio3Count_own", "input_shares", 1, 3),
    "Prio3Sum_own_bad_proof": ("Prio3Sum_own", "input_shares", 0, 40),
    "Prio3Histogram_own_bad_public_share": ("Prio3Histogram_own", "public_share", 0, 40),
    "Prio3Histogram_own_bad_leader_blind": ("Prio3Histogram_own", "input_shares", 0, -1),
    "Prio3Histogram_own_bad_helper_blind": ("Prio3Histogram_own", "input_shares", 2, -1),
    "Prio3Histogram_own_bad_message": ("Prio3Histogram_own", "verifier_messages", 0, 5),
}


VARIABLE = "LOCALDP_VDAF_VECTORS"


def published_directory() -> Path:
    return Path(os.environ.get(VARIABLE, ROOT.parent / "shared" / "vdaf"))


def which() -> str:
    """What there is, in words."""
    mine = f"{len(GOOD) + len(BAD)} of our own ({len(BAD)} that must fail)"
    if not published():
        return f"Prio3 vectors: {mine}; the published ones are not at hand ({VARIABLE} says where)"
    bad = sum("_bad_" in name for name in published())
    return f"Prio3 vectors: {len(published())} published ({bad} that must fail), {mine}"


def names() -> list[str]:
    """Of all vectors; nothing is computed yet."""
    return [*GOOD, *BAD, *published()]


def named(name: str) -> dict[str, Any]:
    """A vector by its name."""
    return own()[name] if name in GOOD or name in BAD else published()[name]


@cache
def published() -> dict[str, dict[str, Any]]:
    """The draft's vectors by name; none where they are not at hand."""
    return {
        path.stem: json.loads(path.read_text())
        for path in sorted(published_directory().glob("Prio3*.json"))
    }


@cache
def own() -> dict[str, dict[str, Any]]:
    """Vectors from the naive implementation."""
    good = {name: vector(naive, measurements) for name, (naive, measurements) in GOOD.items()}
    bad = {name: tampered(GOOD[of[0]][0], good[of[0]], *of[1:]) for name, of in BAD.items()}
    return good | bad


def vector(naive: Naive, measurements: list[Any]) -> dict[str, Any]:
    rand_size = 32 * naive.shares * (2 if naive.joint_len else 1)
    reports = []
    for i, measurement in enumerate(measurements):
        nonce, rand = bytes([i] * 16), bytes((7 * i + 3 * j) % 256 for j in range(rand_size))
        public, inputs = naive.shard(CONTEXT, measurement, nonce, rand)
        report = {
            "measurement": measurement,
            "nonce": nonce.hex(),
            "rand": rand.hex(),
            "public_share": public.hex(),
        }
        reports.append(report | {"input_shares": [share.hex() for share in inputs]})
    outputs = [verified(naive, report) for report in reports]
    sums = [
        [sum(column) % naive.p for column in zip(*rows, strict=True)] for rows in zip(*outputs, strict=True)
    ]
    result = [sum(column) % naive.p for column in zip(*sums, strict=True)]
    done = {
        "agg_shares": [naive.pack(each).hex() for each in sums],
        "agg_result": result[0] if naive.number <= 2 else result,
    }
    return (
        parameters(naive)
        | done
        | {"reports": reports, "operations": operations(naive.shares, len(reports))}
    )


def parameters(naive: Naive) -> dict[str, Any]:
    names = ["shares", "length", "max_measurement", "max_weight", "chunk_length"]
    return {"ctx": CONTEXT.hex(), "verify_key": KEY.hex()} | {name: getattr(naive, name) for name in names}


def verified(naive: Naive, report: dict[str, Any]) -> list[list[int]]:
    """Runs the servers, writes what they send into the report, and returns their output shares."""
    nonce, public = bytes.fromhex(report["nonce"]), bytes.fromhex(report["public_share"])
    inputs = [bytes.fromhex(share) for share in report["input_shares"]]
    runs = [naive.verify_init(KEY, CONTEXT, j, nonce, public, share) for j, share in enumerate(inputs)]
    verifier = [sum(column) % naive.p for column in zip(*(run[2] for run in runs), strict=True)]
    seed = naive.joint_seed(CONTEXT, [run[3] for run in runs]) if naive.joint_len else b""
    report["verifier_shares"] = [[(naive.pack(run[2]) + run[3]).hex() for run in runs]]
    report["verifier_messages"] = [seed.hex()] if naive.decide(verifier) else []
    report["out_shares"] = [naive.pack(run[0]).hex() for run in runs]
    return [run[0] for run in runs]


def operations(shares: int, reports: int) -> list[dict[str, Any]]:
    steps: list[dict[str, Any]] = []
    for i in range(reports):
        steps.append({"operation": "shard", "report_index": i})
        steps += [
            {"operation": "verify_init", "report_index": i, "aggregator_id": j} for j in range(shares)
        ]
        steps.append({"operation": "verifier_shares_to_message", "report_index": i})
        steps += [
            {"operation": "verify_next", "report_index": i, "aggregator_id": j} for j in range(shares)
        ]
    steps += [{"operation": "aggregate", "aggregator_id": j} for j in range(shares)]
    return [step | {"success": True} for step in [*steps, {"operation": "unshard"}]]


def tampered(naive: Naive, good: dict[str, Any], message: str, which: int, byte: int) -> dict[str, Any]:
    """The first report of a good vector, with one bit changed, up to the step that must fail."""
    report = json.loads(json.dumps(good["reports"][0]))
    texts = [report[message]] if message == "public_share" else report[message]
    data = bytearray.fromhex(texts[which])
    data[byte] ^= 1
    texts[which] = data.hex()
    report[message] = texts[0] if message == "public_share" else texts
    steps = [
        {"operation": "verify_init", "report_index": 0, "aggregator_id": j} for j in range(naive.shares)
    ]
    done = [step | {"success": True} for step in steps]
    if message == "verifier_messages":
        last = {"operation": "verify_next", "report_index": 0, "aggregator_id": 0, "success": False}
    else:
        verified(naive, report)
        last = {"operation": "verifier_shares_to_message", "report_index": 0, "success": False}
    return good | {"reports": [report], "operations": [*done, last]}
