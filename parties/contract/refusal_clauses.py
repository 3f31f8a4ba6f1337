"""What an agent refuses, and in which words: a status code, and the reason in a google.rpc.ErrorInfo."""

from __future__ import annotations

from collections.abc import Iterator

import grpc

from localdp.accounting.epsilon import LARGEST_EPSILON_NATS, NANONATS_PER_NAT, Epsilon
from localdp.cohorts import LARGEST_INDEX, Cohort
from localdp.party.party import LONGEST_REQUEST_ID, SHORTEST_REQUEST_ID
from localdp.queries.expressions import MOST_DEPTH, MOST_NODES
from localdp.queries.tokens import LONGEST_TEXT, MOST_OPERANDS
from localdp.randomizers.one_bit import OneBitRandomizer
from localdp.sharing.binding import Binding
from localdp.sharing.collection import Collection, Contributor
from localdp.sharing.encoding import Encoding
from localdp.sharing.noise_plans import NoisePlan
from parties import codec
from parties.contract.clause import Clause
from parties.contract.plan import ClausePlan
from parties.contract.subject import Broken, Reply, Subject, reply_of, require_refused
from parties.wire.v1 import oracle_pb2 as pb
from parties.wire.v1 import randomizer_pb2

_QUERY = "INVALID_ARGUMENT QUERY_REFUSED"
_PARAMETER = "INVALID_ARGUMENT INVALID_PARAMETER"
_POLICY = "PERMISSION_DENIED POLICY_REFUSED"
_UNKNOWN_KIND = b"\xc2\x3e\x00"  # field 1000 of a message, of length 0


def _message(plan: ClausePlan) -> pb.RandomizeRequest:
    """A request that would be answered; each clause spoils one thing of it."""
    return codec.request_to_wire(plan.cheap("spoiled"), Cohort(0, 1))


def queries(subject: Subject, plan: ClausePlan) -> str:
    """Queries that are no queries, or not about these columns."""
    count = 0
    for what, query in _bad_queries(plan):
        message = _message(plan)
        message.query = query
        require_refused(what, subject.send(message), _QUERY)
        count += 1
    return f"{count} queries"


def _bad_queries(plan: ClausePlan) -> Iterator[tuple[str, str]]:
    unknown = next(name for name in ("x", "y" * 64) if name not in plan.schema)
    yield "an unknown column", unknown
    yield "an unknown column in a condition", f"not ({unknown} == 1)"
    yield "a column compared with a label it cannot have", f'{plan.column} == "\u00a7 none"'
    yield "a bare number", "0.5"
    yield "a denominator of zero", "clip(1/0)"
    yield "no expression", ""
    yield "a comparison without its sign", f"{plan.column} {plan.column}"
    yield "a query that is too deep", "not " * MOST_DEPTH + "true"
    yield "a query of too many nodes", " and ".join(["true"] * MOST_NODES)
    yield "a query of too many numbers", f"clip({'+'.join(['1'] * (MOST_OPERANDS + 1))})"
    yield "a query that is too long", " " * LONGEST_TEXT + "true"
    yield "a query that cannot be shown", "true\x1b[2J"


def people(subject: Subject, plan: ClausePlan) -> str:
    """People whom the party does not hold."""
    payment, held = plan.cheap("nobody"), plan.people
    # So many would be too much work, too.
    far = (
        "OUT_OF_RANGE UNKNOWN_INDEX",
        "RESOURCE_EXHAUSTED WORK_REFUSED",
    )
    for cohort, allowed in (
        (Cohort(held, held + 1), far[:1]),
        (Cohort(held - 1, held + 1), far[:1]),
        (Cohort(0, LARGEST_INDEX), far),
    ):
        if cohort.stop > held:
            reply = subject.ask(payment, cohort)
            require_refused(f"people up to {cohort.stop} of {held}", reply, *allowed)
    for start, stop in ((2, 1), (0, LARGEST_INDEX + 1)):
        message = _message(plan)
        message.cohort.start, message.cohort.stop = start, stop
        require_refused(f"people {start} .. {stop}", subject.send(message), _PARAMETER)
    message = _message(plan)
    message.cohort.split.parts = 2  # without a seed
    require_refused("a split without a seed", subject.send(message), _PARAMETER)
    return f"{held} people, and nobody else"


def epsilons(subject: Subject, plan: ClausePlan) -> str:
    """Epsilons that are none, and one that is more than the party allows."""
    for nanonats in (0, LARGEST_EPSILON_NATS * NANONATS_PER_NAT + 1, (1 << 64) - 1):
        message = _message(plan)
        message.randomizer.one_bit.epsilon_nanonats = nanonats
        message.randomizer.one_bit.resolution = 1
        require_refused(f"an epsilon of {nanonats} nanonats", subject.send(message), _PARAMETER)
    if plan.allows_no_more:
        over = Epsilon(plan.largest + max(1000, plan.largest >> 10))
        reply = subject.ask(plan.request("too much", "true", OneBitRandomizer(over)), Cohort(0, 1))
        require_refused(f"epsilon {over}, beyond what was announced", reply, _POLICY)
    return "zero, huge, and beyond the announced largest"


def too_little(subject: Subject, plan: ClausePlan) -> str:
    """An epsilon that is less than the party allows, as a request and as a quote."""
    if plan.smallest == 1:
        return "not promised: requests may cost 1 nanonat"
    message = codec.request_to_wire(plan.payment_of("too little", plan.smallest - 1), Cohort(0, 1))
    for reply in (subject.send(message), subject.quote(message)):
        require_refused(f"less than the {plan.smallest} nanonats that were announced", reply, _POLICY)
    return f"below {plan.smallest} nanonats"


def randomizers(subject: Subject, plan: ClausePlan) -> str:
    """Randomizers that nobody knows, or that do not exist."""
    bad = {
        "no randomizer": randomizer_pb2.Randomizer(),
        "a randomizer of another version": randomizer_pb2.Randomizer.FromString(_UNKNOWN_KIND),
        "a resolution of 3": _one_bit(3),
        "a resolution of 0": _one_bit(0),
        "a channel without rows": randomizer_pb2.Randomizer(finite_channel=randomizer_pb2.FiniteChannel()),
        "k-ary response over 1 value": randomizer_pb2.Randomizer(
            k_ary=randomizer_pb2.KaryRandomizedResponse(epsilon_nanonats=1, inputs=1)
        ),
    }
    for what, randomizer in bad.items():
        message = _message(plan)
        message.randomizer.CopyFrom(randomizer)
        require_refused(what, subject.send(message), _PARAMETER)
    return f"{len(bad)} descriptions"


def _one_bit(resolution: int) -> randomizer_pb2.Randomizer:
    return randomizer_pb2.Randomizer(
        one_bit=randomizer_pb2.OneBitRandomizer(epsilon_nanonats=10**8, resolution=resolution)
    )


def identifiers(subject: Subject, plan: ClausePlan) -> str:
    """Identifiers that are too short to be fresh, or too long."""
    lengths = (0, 1, SHORTEST_REQUEST_ID - 1, LONGEST_REQUEST_ID + 1)
    for length in lengths:
        message = _message(plan)
        message.request_id = (plan.run * 5)[:length]
        require_refused(f"an identifier of {length} bytes", subject.send(message), _PARAMETER)
    return ", ".join(map(str, lengths)) + " bytes"


def collections(subject: Subject, plan: ClausePlan) -> str:
    """Collections that are none, or by servers that the party never chose."""
    require_refused("no collection", _contribute(subject, pb.ContributeRequest()), _PARAMETER, _QUERY)
    collection = Collection(
        collection_id=plan.run,
        query="true",
        encoding=Encoding.count(),
        epsilon=Epsilon(max(1000, plan.smallest)),
        plan=NoisePlan.EACH_SERVER,
        servers=("a server", "that nobody named"),
        parties=(Contributor(plan.party, plan.people),),
        minimum_batch=2,
        binding=Binding((bytes(32), bytes(32)), (bytes(32), bytes(32)), bytes(32)),
    )
    request = pb.ContributeRequest(
        collection=codec.collection_to_wire(collection), cohort=codec.cohort_to_wire(Cohort(0, 1))
    )
    require_refused("unknown share servers", _contribute(subject, request), _PARAMETER)
    return "no collection, and unknown share servers"


def _contribute(subject: Subject, request: pb.ContributeRequest) -> Reply:
    try:
        subject.stub.Contribute(request, timeout=subject.timeout)
    except grpc.RpcError as failure:
        return subject.refused(reply_of(failure))
    raise Broken("the collection was contributed to")


CLAUSES = (
    Clause("C09", "a query that is malformed, ill-typed or over a bound is refused as such", queries),
    Clause("C10", "people whom the party does not hold are out of range", people),
    Clause("C11", "an epsilon of zero, over 30, or over the announced largest is refused", epsilons),
    Clause("C12", "an unknown or impossible randomizer is refused", randomizers),
    Clause("C14", "an identifier of fewer than 16 or more than 64 bytes is refused", identifiers),
    Clause("C26", "an epsilon below the announced smallest is refused", too_little),
    Clause("C23", "a collection by share servers that the party did not name is refused", collections),
)
