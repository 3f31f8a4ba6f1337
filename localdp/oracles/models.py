"""The trust models, a row of data each, and the one way from a row to its oracle.

The command line, federations, experiments, learners at hand, reports and plots read a model's row, and nothing else says
what a model is.  Running parties prove their answers (`tier = "prio3"`) unless told otherwise; simulated ones do not
(`localdp.oracles.shared.default_tier`).

Nothing heavy is imported before an oracle is made: the command line reads the rows for its help.

Checked in tests/unit/oracles/test_models.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, TypeAlias

from localdp.accounting.epsilon import Epsilon
from localdp.errors import InvalidParameter

if TYPE_CHECKING:
    from localdp.accounting.ledger import Ledger
    from localdp.domains import Records
    from localdp.oracles.collecting import ShareServers
    from localdp.oracles.definition import StatisticalQueryOracle
    from localdp.oracles.lr import LROracle
    from localdp.oracles.shared import Broken
    from localdp.oracles.shuffler import Mixer, Shuffler
    from localdp.randomness.source import RandomSource
    from localdp.sharing.noise_plans import NoisePlan
    from localdp.sharing.summed_noise import SummedNoise

ModelName: TypeAlias = Literal["exact", "curator", "local", "shuffled", "shared"]
Options: TypeAlias = Mapping[str, Any]  # of a model, by name
Coins: TypeAlias = "Callable[[str], RandomSource]"  # by what they are for
_NONE: Options = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Parties:
    """The parties as oracles ask them: whatever of it is there."""

    lr: LROracle | None = None  # their reports
    share_servers: ShareServers | None = None
    # A shuffler of its own; None: of simulated parties this process is the shuffler.
    mixer: Mixer | None = None
    records: Records | None = None  # of everybody, where they are at hand: in a simulation
    curator: Ledger | None = None  # what people have spent with the curator
    honest: int | None = None  # people whose reports hide others behind a shuffler; None: everybody's do
    said: str = "these parties have"  # where it is said who there is
    # Rounds of share servers that broke off: whoever asks the same again goes on, and nobody pays twice.
    broken: Broken = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class OneCount:
    """One count of bits, of which a model predicts the error."""

    people: int
    epsilon: Epsilon  # privacy loss of a person, in nats, replace-one neighbours
    servers: int = 2
    options: Options = field(default_factory=dict)  # of the model; its defaults for the others


class CountNoise(Protocol):
    """What a model adds to a count, in people."""

    def variance(self) -> float:
        """Of the noise alone."""
        ...

    def half_width(self, level: float) -> float:
        """What it does not exceed, with this probability."""
        ...


@dataclass(frozen=True, slots=True)
class TrustModel:
    """Whom one has to trust, and all that follows from it."""

    name: str
    title: str  # in legends
    honest: str  # who must be, in a few words
    colour: str  # Okabe and Ito's, told apart by the colour-blind
    mark: str  # of a point in a plot
    style: str  # in a terminal
    make: Callable[[Parties, Epsilon, Coins, Options], StatisticalQueryOracle]
    predicted_error: Callable[[OneCount], float]  # expected absolute error of a count, in people
    # The law of that error; None: there is none.
    noise: Callable[[OneCount], CountNoise | None] = lambda count: None
    divides: Literal["people", "epsilon"] = "epsilon"  # what the questions of one round share
    lower_bound: Callable[[OneCount], float] | None = None  # what no protocol of the same kind can beat
    # What a party charges a person for it.
    charge: Callable[[OneCount], Epsilon] = lambda count: count.epsilon
    growth: float = 0.0  # the error of a count grows with this power of the number of people
    options: Options = field(default_factory=dict)  # and their defaults; None: it depends on the parties
    needs_agents: bool = False  # parties that answer for their people
    needs_share_servers: bool = False
    needs_mixer: bool = False
    needs_records: bool = False  # of everybody, beforehand
    spends: bool = True  # an epsilon is part of the question
    cheaters: str = ""  # what a party that cheats can do; empty: it depends on the tier

    def settled(self, options: Options) -> dict[str, Any]:
        """The options as they are meant: those that are given, checked, and the defaults of the others."""
        for name in options:
            if name not in self.options:
                known = ", ".join(self.options) or "none"
                raise InvalidParameter(f"the {self.name} model has no option {name!s:.40}; it has {known}")
        return {**self.options, **options}


def oracle_of(
    model: str, parties: Parties, epsilon: Epsilon | None, coins: Coins, options: Options = _NONE
) -> StatisticalQueryOracle:
    """The oracle of a trust model over these parties; a round of it costs each person epsilon."""
    row = model_named(model)
    settled = row.settled(options)
    require_at_hand(row, parties)
    if row.spends and epsilon is None:
        raise InvalidParameter(f'say what each person may spend: oracle("{model}", epsilon=1.0)')
    if row.needs_share_servers and parties.share_servers is None:
        raise InvalidParameter(
            f"{parties.said} no share servers: the {model} model needs at least two of them; start some, or use the "
            f"{DEFAULT_MODEL} model"
        )
    return row.make(parties, epsilon or Epsilon(0), coins, settled)


def require_at_hand(model: TrustModel, parties: Parties) -> None:
    """Refuse a model whose oracle would need records that nobody here has."""
    if model.needs_records and parties.records is None:
        raise InvalidParameter(
            f"running parties keep their records to themselves: nobody can be the {model.name} oracle"
        )


def model_named(name: str) -> TrustModel:
    """The row of this name."""
    if name not in MODELS:
        raise InvalidParameter(f"a trust model is one of {', '.join(MODELS)}; got {name!s:.40}")
    return MODELS[name]


def models_with(option: str) -> tuple[str, ...]:
    """The models that have this option."""
    return tuple(row.name for row in MODELS.values() if option in row.options)


def _exact(parties: Parties, epsilon: Epsilon, coins: Coins, options: Options) -> StatisticalQueryOracle:
    from localdp.oracles.exact import ExactOracle

    assert parties.records is not None
    return ExactOracle(parties.records)


def _curator(parties: Parties, epsilon: Epsilon, coins: Coins, options: Options) -> StatisticalQueryOracle:
    from localdp.oracles.curator import CuratorOracle

    assert parties.records is not None
    return CuratorOracle(parties.records, epsilon, coins("curator"), ledger=parties.curator)


def _local(parties: Parties, epsilon: Epsilon, coins: Coins, options: Options) -> StatisticalQueryOracle:
    from localdp.oracles.local import LocalOracle

    assert parties.lr is not None
    return LocalOracle(parties.lr, epsilon, coins("analyst"), divide=options["divide"])


def _shuffled(parties: Parties, epsilon: Epsilon, coins: Coins, options: Options) -> StatisticalQueryOracle:
    from localdp.oracles.shuffled import ShuffledOracle

    delta = delta_of(options["delta"])
    mixer = parties.mixer or _mixing_here(parties, coins)
    return ShuffledOracle(mixer, epsilon, coins("analyst"), delta=delta, honest=parties.honest)


def _mixing_here(parties: Parties, coins: Coins) -> Shuffler:
    """Whoever mixes sees who sent what.  In a simulation that is no loss; of running parties it is what they hide."""
    from localdp.oracles.shuffler import Shuffler

    if parties.records is None or parties.lr is None:
        raise InvalidParameter(
            "the shuffled model needs a shuffler, and these parties have none: this process would see who sent what. "
            "`localdp parties up --shuffler` starts one, and its file says where it is"
        )
    return Shuffler(parties.lr, coins("shuffler"))


def _shared(parties: Parties, epsilon: Epsilon, coins: Coins, options: Options) -> StatisticalQueryOracle:
    from localdp.oracles.shared import SharedOracle, default_tier

    assert parties.share_servers is not None
    return SharedOracle(
        parties.share_servers,
        epsilon,
        coins("analyst"),
        plan=_plan(options["noise_plan"]),
        minimum_batch=options["minimum_batch"],
        tier=options["tier"] or default_tier(simulated=parties.records is not None),
        broken=parties.broken,
    )


def delta_of(value: Any) -> Fraction:
    """A delta, from whatever number or text."""
    try:
        return Fraction(str(value))
    except (ValueError, ZeroDivisionError) as error:
        raise InvalidParameter("a delta is a number such as 1e-6") from error


def _plan(value: Any) -> NoisePlan:
    from localdp.sharing.noise_plans import NoisePlan

    return value if isinstance(value, NoisePlan) else NoisePlan.parse(str(value))


def _bounds() -> Any:
    """The predictions, which need numpy."""
    from localdp.oracles import bounds

    return bounds


def _central_noise(count: OneCount) -> CountNoise:
    from localdp.sharing.summed_noise import SummedNoise

    return SummedNoise(count.epsilon.exact, Fraction(1))


def _curator_error(count: OneCount) -> float:
    return float(_bounds().curator_error(float(count.epsilon)))


def _single_report(count: OneCount) -> Epsilon:
    """A party cannot see that reports are mixed: it charges what one of them reveals."""
    delta = delta_of(MODELS["shuffled"].settled(count.options)["delta"])
    single: Epsilon = _bounds().shuffled_local_epsilon(count.epsilon, delta, count.people)
    return single


def _local_error(count: OneCount, single: Epsilon | None = None) -> float:
    return float(_bounds().randomized_response_error(float(single or count.epsilon), count.people))


def _bit_noise(count: OneCount, single: Epsilon | None = None) -> CountNoise:
    law: CountNoise = _bounds().BitNoise(float(single or count.epsilon), count.people)
    return law


def _shared_noise(count: OneCount) -> SummedNoise:
    from localdp.sharing.noise_plans import ServerNoise

    plan = _plan(MODELS["shared"].settled(count.options)["noise_plan"])
    return ServerNoise(plan, count.epsilon, 1, count.servers).total


def _shared_error(count: OneCount) -> float:
    from localdp.sharing.noise_plans import NoisePlan

    if _plan(MODELS["shared"].settled(count.options)["noise_plan"]) == NoisePlan.EACH_SERVER:
        return float(_bounds().each_server_error(float(count.epsilon), count.servers))
    return _shared_noise(count).mean_absolute()


_HANDED_IN = "A cheater can hand in other records than those of its people: m of n people move a mean by at most m/n."

_ROWS = (
    TrustModel(
        name="exact",
        title="exact",
        honest="everybody who sees a record or the answer",
        colour="#1f2329",
        mark="x",
        style="green",
        make=_exact,
        predicted_error=lambda count: 0.0,
        needs_records=True,
        spends=False,
        cheaters=_HANDED_IN,
    ),
    TrustModel(
        name="curator",
        title="trusted curator",
        honest="the curator, who sees every record",
        colour="#cc79a7",
        mark="s",
        style="magenta",
        make=_curator,
        predicted_error=_curator_error,
        noise=_central_noise,
        lower_bound=_curator_error,
        needs_records=True,
        cheaters=_HANDED_IN,
    ),
    TrustModel(
        name="local",
        title="local",
        honest="nobody but one's own device",
        colour="#d55e00",
        mark="o",
        style="yellow",
        make=_local,
        predicted_error=_local_error,
        noise=_bit_noise,
        divides="people",
        lower_bound=lambda count: _bounds().local_lower_bound(float(count.epsilon), count.people),
        growth=0.5,
        options={"divide": "people"},
        needs_agents=True,
        cheaters="A cheater can choose among the reports that there are: each moves the mean of a bit by at most C/n, "
        "C = (e^epsilon + 1)/(e^epsilon - 1), and nobody can tell it from an honest one.",
    ),
    TrustModel(
        name="shuffled",
        title="shuffled",
        honest="the shuffler, who sees who sent which report; and the other parties, who must not tell the analyst "
        "what they sent",
        colour="#009e73",
        mark="^",
        style="blue",
        make=_shuffled,
        predicted_error=lambda count: _local_error(count, _single_report(count)),
        noise=lambda count: _bit_noise(count, _single_report(count)),
        divides="people",
        charge=_single_report,
        options={"delta": Fraction(1, 10**6)},
        needs_agents=True,
        needs_mixer=True,
        cheaters="A cheater can choose among the reports that there are: each moves the mean of a bit by at most C/n, "
        "C = (e^eps0 + 1)/(e^eps0 - 1), and nobody can tell it from an honest one. Cheaters hide nobody, so the promise is "
        "for as many reports as are honest at least.",
    ),
    TrustModel(
        name="shared",
        title="shared curator",
        honest="not all of the share servers may collude",
        colour="#0072b2",
        mark="D",
        style="cyan",
        make=_shared,
        predicted_error=_shared_error,
        noise=_shared_noise,
        lower_bound=_curator_error,
        options={"noise_plan": "each-server", "minimum_batch": 2, "tier": None},
        needs_agents=True,
        needs_share_servers=True,
    ),
)
MODELS: Mapping[str, TrustModel] = MappingProxyType({row.name: row for row in _ROWS})
DEFAULT_MODEL: Final = "local"  # nobody has to be trusted
