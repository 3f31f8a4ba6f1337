"""A count through an agent as its owner runs it, with limits and a quantum: what it takes beside its quanta.

The agent is a process of its own (`python -m benchmarks.paced`), which writes its port and ends with its input.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.rows import Row, best_seconds, row_of
from localdp.accounting.epsilon import Epsilon
from localdp.cohorts import Cohort
from localdp.experiments.population import made_up_people
from localdp.oracles.local import LocalOracle
from localdp.party.party import Party, Request
from localdp.randomizers.one_bit import OneBitRandomizer
from localdp.randomness.keystream import KeystreamSource
from parties import codec
from parties.agent.answers import KeptAnswers
from parties.agent.ledger import SqliteLedger
from parties.agent.service import SERVICE_NAME, AgentService
from parties.agent.work import WorkLimits
from parties.coordinator import Peer, RemoteParties
from parties.serving import open_channel, start_server
from parties.wire.v1 import oracle_pb2, oracle_pb2_grpc

PEOPLE = 1_000_000
TURNS = 20
LIMIT_SECONDS = 0.030
ONE, PLENTY = Epsilon.requested(1), Epsilon(10**15)


def paced_row() -> Row:
    """A local count of 10^6 people over gRPC; the quanta are told apart."""
    source = KeystreamSource.from_system()
    with _agent() as address, closing(RemoteParties([Peer("party", address)])) as parties:
        quanta = _quanta_seconds(address, Request.fresh("smoker", OneBitRandomizer(ONE), source))
        oracle = LocalOracle(parties, ONE, source)
        taken = best_seconds([lambda: oracle.answer(["smoker"])], TURNS)[0]
    name = f"the same, beside quanta of {quanta * 1e3:.0f} ms"
    beside = taken - quanta
    return row_of(
        name, beside * 1e3, "ms", f"{LIMIT_SECONDS * 1e3:.0f} ms", max(0.0, beside) / LIMIT_SECONDS, 1.0
    )


def _quanta_seconds(address: str, request: Request) -> float:
    """When the agent says that its answer leaves."""
    about = codec.request_to_wire(request, Cohort(0, PEOPLE))
    with open_channel(address) as channel:
        stub = oracle_pb2_grpc.LocalRandomizerOracleServiceStub(channel)
        told = stub.Quote(oracle_pb2.QuoteRequest(randomize=about), timeout=20)
    return float(told.answer_nanoseconds) / 1e9


@contextmanager
def _agent() -> Iterator[str]:
    command = [sys.executable, "-m", "benchmarks.paced"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None and process.stdout is not None
        try:
            yield f"127.0.0.1:{int(process.stdout.readline())}"
        finally:
            process.stdin.close()


async def _serve(directory: str) -> None:
    people = made_up_people(PEOPLE, KeystreamSource.from_system())
    ledger = SqliteLedger(Path(directory) / "ledger", PEOPLE, PLENTY, chain_key=bytes(32))
    kept = KeptAnswers(Path(directory) / "answers")
    agent = AgentService(Party("party", people, bytes(32), ledger), {}, limits=WorkLimits(), kept=kept)
    server, port = await start_server("127.0.0.1", 0, [(SERVICE_NAME, agent.register)])
    print(port, flush=True)
    await asyncio.to_thread(sys.stdin.read)
    await server.stop(0)
    await agent.close()


if __name__ == "__main__":
    with TemporaryDirectory() as place:
        asyncio.run(_serve(place))
