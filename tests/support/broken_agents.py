"""Agents that each break one clause of the contract: what `localdp contract` must tell apart from an honest one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from localdp.accounting.ledger import MemoryLedger
from localdp.party.party import Party
from parties.agent.service import AgentService
from parties.agent.work import WorkLimits
from tests.support.broken_budget_agents import (
    ChargesForTelling,
    HasNoBudgets,
    TellsFinely,
    TellsNothing,
    TellsTheLimit,
)
from tests.support.broken_holders import (
    BUDGET,
    PEOPLE,
    AnswersInPart,
    BelievesChannels,
    ChargesQuotes,
    ChargesReplays,
    ForgetsPayments,
    ForgetsUnfinished,
    FreshCoins,
    GrantsEverything,
    IgnoresRange,
    NeverCharges,
    NoiseTooLarge,
    NoiseTooSmall,
    OneCoinForAll,
    QuotesTooLittle,
    SharedCoins,
    Truncated,
    honest_party,
)
from tests.support.broken_quiet_agents import (
    QUANTUM,
    SHORT,
    ChargesExpired,
    ChargesTooMuchWork,
    CutsAnswersShort,
    EpochInTheCoins,
    EpochInTheName,
    ForgetsAnswers,
    IgnoresEpochs,
    LeavesEarly,
    LowerFloor,
    NoEpoch,
    OneAfterTheOther,
    OtherMessages,
    QuotesAnyEpoch,
    QuotesByTruth,
    QuotesFinely,
    QuotesFlat,
    QuotesTooLong,
    QuotesWhatIsKept,
    QuotesWhatIsPaid,
    QuotesWithoutLimits,
    RefusesEarly,
    RefusesReaders,
    RepeatsEarly,
    SlowIfTrue,
    WaitsForReaders,
)
from tests.support.broken_services import (
    Bare,
    Boundless,
    ChargesAfter,
    ChargesCutOffCalls,
    ChecksThenCharges,
    ContributesToAnybody,
    DirtyPadding,
    LeaksText,
    OnePersonTooMany,
    OneTooFew,
    TakesAnyEpsilon,
    TakesAnyIdentifier,
    TakesAnyRandomizer,
    UnknownIsFalse,
    Unsteady,
    ValueDependentLength,
)


@dataclass(frozen=True)
class BrokenAgent:
    """An agent, and the clause that it breaks."""

    clause: str
    name: str
    make: Callable[[], AgentService]


def _party(clause: str, kind: type[Party]) -> BrokenAgent:
    return BrokenAgent(clause, kind.__name__, lambda: AgentService(honest_party(kind), {}))


def _ledger(
    clause: str, kind: type[MemoryLedger], service: type[AgentService] = AgentService
) -> BrokenAgent:
    return BrokenAgent(
        clause, kind.__name__, lambda: service(honest_party(ledger=kind(PEOPLE, BUDGET)), {})
    )


def _service(clause: str, kind: type[AgentService], limits: WorkLimits | None = None) -> BrokenAgent:
    return BrokenAgent(clause, kind.__name__, lambda: kind(honest_party(), {}, limits=limits))


BROKEN_AGENTS = (
    _service("C01", Bare),
    _service("C02", Bare),
    _service("C03", Unsteady),
    _service("C03", Boundless),
    _party("C04", FreshCoins),
    _party("C05", IgnoresRange),
    _party("C06", SharedCoins),
    _party("C06", OneCoinForAll),
    _service("C07", DirtyPadding),
    _service("C07", OneTooFew),
    _service("C07", ValueDependentLength),
    _party("C08", NoiseTooLarge),
    _party("C08", NoiseTooSmall),
    _service("C09", UnknownIsFalse),
    _service("C10", OnePersonTooMany),
    _service("C11", TakesAnyEpsilon),
    _service("C12", TakesAnyRandomizer),
    _ledger("C13", NeverCharges),
    _ledger("C13", ChargesReplays),
    _service("C13", ChargesAfter),
    _service("C14", TakesAnyIdentifier),
    _ledger("C15", BelievesChannels),
    _service("C16", Bare),
    _service("C17", Bare),
    _ledger("C18", ForgetsUnfinished, ChargesCutOffCalls),
    _service("C19", LeaksText),
    _party("C20", Truncated),
    _service("C21", ChecksThenCharges),
    _ledger("C22", AnswersInPart),
    _service("C23", ContributesToAnybody),
    _party("C24", ChargesQuotes),
    _party("C24", QuotesTooLittle),
    _ledger("C24", ForgetsPayments),
    _party("C25", GrantsEverything),
    _service("C26", LowerFloor),
    _service("C27", LeavesEarly, QUANTUM),
    _service("C27", RefusesEarly, QUANTUM),
    _service("C27", RepeatsEarly, QUANTUM),
    _service("C27", QuotesTooLong, QUANTUM),
    _service("C27", QuotesFinely, QUANTUM),
    _service("C28", SlowIfTrue, WorkLimits(quantum_seconds=0.002)),
    _service("C29", NoEpoch),
    _service("C29", IgnoresEpochs),
    _party("C29", QuotesAnyEpoch),
    _party("C29", ChargesExpired),
    _party("C30", EpochInTheName),
    _party("C30", EpochInTheCoins),
    _service("C31", ForgetsAnswers),
    _service("C31", OtherMessages),
    _party("C32", QuotesWhatIsPaid),
    _service("C32", QuotesWhatIsKept),
    _service("C33", QuotesByTruth),
    _service("C33", QuotesFlat),
    _service("C34", ChargesTooMuchWork, SHORT),
    _service("C34", QuotesWithoutLimits, SHORT),
    _service("C34", OneAfterTheOther),
    _service("C35", WaitsForReaders),
    _service("C35", RefusesReaders),
    _service("C35", CutsAnswersShort),
    _party("C36", TellsTheLimit),
    _party("C36", TellsNothing),
    _party("C36", ChargesForTelling),
    _service("C36", TellsFinely),
    _service("C36", HasNoBudgets),
)
