"""An agent's answer to a round, as a file: the same reports, under the same limits and the same charge, as in a call.

Who asks, how much work it is and what it costs is judged as at the agent's other door (`service`), before the first coin
is drawn, hence before anything is written.  What is written is kept like what is sent: a round that is asked again is
answered with the same bytes while the answer is kept, at no further charge, and refused after that.  A file that was begun
and not finished is not there.  The agent may be running meanwhile: it waits for no more than one part of the answer.

Checked in tests/unit/parties/agent/test_report_files.py and tests/integration/test_aggregate.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from urllib.parse import quote

from localdp.cohorts import Cohort
from localdp.errors import InvalidParameter
from localdp.randomizers.definition import Reports
from parties.agent.config import AgentConfig
from parties.agent.plan import WorkPlan
from parties.agent.reporting import planned, reporting
from parties.agent.run import identity_of, revocations_of
from parties.agent.state import AgentState
from parties.agent.work import WorkAccounts, WorkLimits
from parties.agent.yardstick import slowness
from parties.at_rest.places import inside, written
from parties.at_rest.report_file import Heading, in_rows, write_reports
from parties.at_rest.round_file import RoundFile


def write_answer(state: AgentState, asked: RoundFile, directory: str, caller: str = "") -> tuple[str, int]:
    """Charge everybody for a round and write their reports; returns where, and how many they are."""
    _require_caller(state.config, caller)
    state.refresh()
    party, request, limits = state.party, asked.request, state.config.work
    everybody, name = Cohort(0, party.people), asked.digest(party.records.schema)
    plan = planned(party, request, everybody, limits, state.recall)
    _require_work(limits, plan, caller)
    answer = reporting(party, state.answers, request, everybody, caller)

    def parts() -> Iterator[Reports]:
        for part in plan.parts():
            yield request.randomizer.unpack(answer(part), part.size())

    rows = in_rows(request.randomizer, parts())
    first = next(rows)  # fixes until when the answer is kept
    epoch, until = state.answers.standing(party.name_of(request))
    text, people = request.question(party.records.schema).text, (everybody.start, everybody.stop)
    heading = Heading(name, text, request.randomizer, party.name, epoch, *people, until)
    place = inside(directory, f"{name.hex()[:16]}-{quote(party.name, safe='')}-{epoch}.parquet")
    with written(place) as file:
        return place, write_reports(file, heading, chain([first], rows))


def _require_caller(config: AgentConfig, caller: str) -> None:
    """Refuse whom the agent would not let in: whoever writes the file says whom it is for, and shows no certificate."""
    if (
        config.revoked is not None
        and (revocations := revocations_of(config, identity_of(config))) is not None
    ):
        revocations.require_name(caller)
    by_name = config.approval.analysts or (config.quotas is not None and config.quotas.of)
    if by_name and not caller:
        told = "say who asks (--for): your quotas, or what waits for your approval, go by the name of the analyst"
        raise InvalidParameter(told)
    config.policy.require_caller(caller)


def _require_work(limits: WorkLimits, plan: WorkPlan, caller: str) -> None:
    """Refuse what the agent would refuse as too much work, if it had done nothing else."""
    here = slowness() if limits.quantum_seconds else 1.0
    limits.require_request(plan.seconds * here, plan.piece * here)
    WorkAccounts(limits).require(caller, plan.seconds * here)
