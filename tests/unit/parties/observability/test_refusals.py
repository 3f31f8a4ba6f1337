"""Callers that are refused: counted each, told at the default level, and never more than a line a second."""

from __future__ import annotations

import contextlib

import pytest

from localdp.errors import BudgetExhausted, CertificateRevoked, LocalDpError, PolicyRefused
from parties.observability import refusals as refusals_module
from parties.observability.observer import Observer
from parties.observability.refusals import Refusals
from tests.unit.parties.observability.test_observability import lines, logged

CANARY = "the record says 4711"


def refuse(observer: Observer, error: LocalDpError, caller: str = "mallory", door: bool = False) -> None:
    watch = observer.admission if door else observer.call
    with contextlib.suppress(LocalDpError), watch("Randomize", caller):
        raise error


@pytest.mark.parametrize("door", [False, True])
def test_a_refusal_is_a_warning_with_method_caller_and_reason(door: bool) -> None:
    observer = Observer("agent", "north")
    with logged("warning") as stream:
        refuse(observer, PolicyRefused(CANARY), door=door)
    (line,) = lines(stream)
    wanted = {
        "level": "warning",
        "event": "refused",
        "role": "agent",
        "name": "north",
        "method": "Randomize",
        "caller": "mallory",
        "code": "PERMISSION_DENIED",
        "reason": "POLICY_REFUSED",
        "left_out": 0,
    }
    assert {key: line[key] for key in wanted} == wanted
    assert CANARY not in stream.getvalue()
    told = observer.exposition().splitlines()
    assert 'localdp_refused_total{method="Randomize",reason="POLICY_REFUSED"} 1' in told
    assert 'localdp_calls_total{method="Randomize",code="PERMISSION_DENIED"} 1' in told


def test_reasons_are_told_apart_and_other_errors_of_a_call_are_no_refusals_of_a_caller() -> None:
    observer = Observer("agent", "north")
    with logged("warning") as stream:
        refuse(observer, CertificateRevoked(CANARY), door=True)
        refuse(observer, BudgetExhausted(CANARY))
        refuse(observer, BudgetExhausted(CANARY), door=True)  # whatever a door raises is a refusal
    assert [line["reason"] for line in lines(stream)] == ["CERTIFICATE_REVOKED", "BUDGET_EXHAUSTED"]
    told = observer.exposition()
    assert 'localdp_refused_total{method="Randomize",reason="CERTIFICATE_REVOKED"} 1' in told
    assert 'localdp_refused_total{method="Randomize",reason="BUDGET_EXHAUSTED"} 1' in told


def test_whoever_is_admitted_is_observed_by_the_call_alone() -> None:
    observer = Observer("agent", "north")
    with logged() as stream, observer.admission("Randomize", "analyst"):
        pass
    assert not lines(stream)
    assert 'method="Randomize"' not in observer.exposition()


class Talkative(Refusals):
    """Leaves nothing out."""

    def left_out(self, caller: str, reason: str) -> int | None:
        return super().left_out(caller, reason) or 0


class Silent(Refusals):
    """Forgets to say how many it left out."""

    def left_out(self, caller: str, reason: str) -> int | None:
        return None if super().left_out(caller, reason) is None else 0


def left_out(observer: Observer, kind: type[Refusals]) -> list[int]:
    """What the lines say about 10,000 refusals in two and a half seconds."""
    now = [0.0]
    observer.refusals = kind(lambda: now[0])
    with logged("debug") as stream:
        for number in range(10_000):
            now[0] = number / 4000
            refuse(observer, PolicyRefused("no"))
    return [line["left_out"] for line in lines(stream)]


@pytest.mark.parametrize("twin", [Talkative, Silent])
def test_a_log_that_fills_the_disk_or_hides_what_it_left_out_is_caught(twin: type[Refusals]) -> None:
    assert left_out(Observer("agent", "north"), twin) != [0, 3999, 3999]


def test_ten_thousand_refusals_are_counted_and_are_few_lines() -> None:
    observer = Observer("agent", "north")
    assert left_out(observer, Refusals) == [0, 3999, 3999]
    assert (
        'localdp_refused_total{method="Randomize",reason="POLICY_REFUSED"} 10000' in observer.exposition()
    )


def test_each_caller_and_each_reason_has_a_line_of_its_own() -> None:
    kept = Refusals(lambda: 0.0)
    assert [kept.left_out(*pair) for pair in (("a", "x"), ("b", "x"), ("a", "y"), ("a", "x"))] == [
        0,
        0,
        0,
        None,
    ]


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refusals_module, "MOST_CALLERS", 3)
    kept = Refusals(lambda: 0.0)
    for number in range(100):
        assert kept.left_out(str(number), "x") == 0
    assert len(kept._seen) == 3
    assert kept.left_out("99", "x") is None
    assert kept.left_out("0", "x") == 0
