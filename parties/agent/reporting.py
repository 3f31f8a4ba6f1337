"""An answer of reports, whichever door it is asked at: what it takes, then the charge, then its parts.

A call (`service`) and a file (`report_files`) differ in who waits for the parts, and in nothing else.

Checked in tests/unit/parties/agent/test_report_files.py and tests/contract/test_lr_oracle.py.
"""

from __future__ import annotations

from collections.abc import Callable

from localdp.cohorts import Cohort
from localdp.errors import RequestExpired
from localdp.party.party import Party, Request
from parties.agent.answers import KeptAnswers
from parties.agent.plan import WorkPlan, randomize_plan
from parties.agent.work import WorkLimits


def planned(
    party: Party, asked: Request, cohort: Cohort, limits: WorkLimits, recall: Callable[[bytes], None]
) -> WorkPlan:
    """How it will be answered; what was charged for it before is at hand from here on."""
    epoch = party.epoch
    plan = randomize_plan(asked, cohort, epoch.records.schema, limits, sampled=epoch.samples)
    recall(party.name_of(asked))
    return plan


def reporting(
    party: Party, kept: KeptAnswers | None, asked: Request, cohort: Cohort, caller: str
) -> Callable[[Cohort], bytes]:
    """Charge; what is returned has the packed reports of any part, as they were sent if they were sent before."""
    randomizer = asked.randomizer
    try:
        charged = party.charged(asked, cohort, caller)
    except RequestExpired:
        if kept is None:
            raise
        return kept.fetching(party.had(asked, cohort, caller), randomizer, asked.epoch)
    if kept is None:
        return lambda part: randomizer.pack(charged(part))
    return lambda part: kept.reports(charged, randomizer, part, caller)
