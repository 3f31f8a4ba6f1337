"""When answers leave: at public times, so that nothing can be read from a clock.

Seen from outside, and coarsely.  Whatever the network adds makes an answer later, so one that comes too early left too
early.  That the time is the same for all values is looked at for one pair of queries, which differ as much as they can: of
all people the one is true and the other false.  Finer clocks are the business of tests inside an agent
(tests/support/timing_attack.py has the attack).

An agent that announces no quantum promises nothing here: its clauses hold, and say so.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from localdp.party.party import Request
from parties import codec
from parties.contract.budget_clauses import EXHAUSTED, unpaid_left, unpaid_part
from parties.contract.clause import Clause
from parties.contract.plan import ClausePlan
from parties.contract.quote_clauses import granted
from parties.contract.subject import Broken, Reply, Subject, require_refused, unpacked

NOT_PROMISED = "not promised: no quantum is announced"
_SECOND = 1_000_000_000  # nanoseconds
_CLOCK = 0.99  # two clocks differ by less
_TIMES = 2
_REPETITIONS = 4  # of each query, in one of at most three rounds
_ROUNDS = 3
_NOISE = 0.1  # of a time: reading a request takes as long as it takes, and is not the same twice
_CONDITIONS = 500


def never_early(subject: Subject, plan: ClausePlan) -> str:
    """First answers, repetitions, refusals that have to do with what was spent, and quotes, some times each."""
    if not plan.quantum:
        return NOT_PROMISED
    _require_whole_quanta(subject, plan)
    earliest = min(_required(*one) for number in range(_TIMES) for one in _timed(subject, plan, number))
    return f"quantum {_milliseconds(plan.quantum)}; none came before {earliest:.2f} times its time"


def _timed(subject: Subject, plan: ClausePlan, number: int) -> Iterator[tuple[str, Reply, int]]:
    """What was asked, the reply, and after how many nanoseconds it may come."""
    block = plan.blocks["quiet"]
    request = plan.cheap(f"timed {number}")
    message = codec.request_to_wire(request, block)
    quoted = subject.quote(message)
    if quoted.told.answer_nanoseconds < plan.quantum:
        raise Broken(f"a quote says that an answer leaves at once, or ended otherwise: {quoted.name}")
    yield "a quote", quoted, plan.quantum
    for what in ("a first answer", "a repetition"):
        reply = subject.send(message)
        unpacked(request, block, reply)
        yield what, reply, quoted.told.answer_nanoseconds
    poor = plan.payment_of(f"timed {number} poor", unpaid_left(subject, plan) + 1)
    spent = codec.request_to_wire(poor, unpaid_part(plan, 0))
    for what, call in (("a refusal", subject.send), ("a refused quote", subject.quote)):
        reply = call(spent)
        require_refused("more than is left", reply, EXHAUSTED)
        yield what, reply, plan.quantum


def _required(what: str, reply: Reply, nanoseconds: int) -> float:
    """How many times as long as it had to take it took; refused if that is less than once."""
    took = reply.seconds * _SECOND
    if took < nanoseconds * _CLOCK:
        raise Broken(f"{what} came after {_milliseconds(took)}, and not after {_milliseconds(nanoseconds)}")
    return took / nanoseconds


def _require_whole_quanta(subject: Subject, plan: ClausePlan) -> None:
    """The times that quotes tell are some quanta; each may be rounded to a nanosecond."""
    for cohort in (plan.blocks["quiet"], plan.crowd):
        time = granted(subject, plan.cheap("timed in quanta"), cohort).answer_nanoseconds
        quanta = round(time / plan.quantum)
        if quanta < 1 or abs(time - quanta * plan.quantum) > quanta:
            raise Broken(
                f"a quote says {time} ns, which are no quanta of the {plan.quantum} ns that were announced"
            )


def whatever_is_true(subject: Subject, plan: ClausePlan) -> str:
    """Free repetitions of two requests of one shape, in turns; the shortest of each, up to a quantum."""
    if not plan.quantum:
        return NOT_PROMISED
    requests = [
        plan.cheap(f"timed {word}", " and ".join([word] * _CONDITIONS)) for word in ("true", "false")
    ]
    for request in requests:
        subject.reports(request, plan.blocks["quiet"])
    shortest = [math.inf, math.inf]
    for _ in range(_ROUNDS):  # a machine that is busy with something else is given another chance
        shortest = [min(*pair) for pair in zip(shortest, _repeated(subject, plan, requests), strict=True)]
        if abs(shortest[0] - shortest[1]) <= plan.quantum + _NOISE * min(shortest):
            break
    else:
        raise Broken(
            f"repetitions about `true` took {_milliseconds(shortest[0])}, and about `false` "
            f"{_milliseconds(shortest[1])}, with a quantum of {_milliseconds(plan.quantum)}"
        )
    return f"{_CONDITIONS} conditions: {' if true, '.join(map(_milliseconds, shortest))} if false"


def _repeated(subject: Subject, plan: ClausePlan, requests: Sequence[Request]) -> list[float]:
    """The shortest time of some repetitions of each, in nanoseconds."""
    shortest = [math.inf] * len(requests)
    for _ in range(_REPETITIONS):
        for number, request in enumerate(requests):
            reply = subject.ask(request, plan.blocks["quiet"])
            unpacked(request, plan.blocks["quiet"], reply)
            shortest[number] = min(shortest[number], reply.seconds * _SECOND)
    return shortest


def _milliseconds(nanoseconds: float) -> str:
    return f"{nanoseconds / 1e6:.2f} ms"


CLAUSES = (
    Clause(
        "C27", "answers, repetitions, refusals and quotes leave no earlier than their time", never_early
    ),
    Clause("C28", "a repetition takes as long where all is true as where nothing is", whatever_is_true),
)
