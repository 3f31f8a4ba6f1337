"""The trust models, a row of data each, and the one way from a row to its oracle.

The command line, federations, experiments, learners at hand, reports and plots read a model's row, and nothing else says
what a model is.  Running parties prove their answers (`tier = "prio3"`) unless told otherwise; simulated ones do not
(`localdp.oracles.shared.default_tier`).

Nothing heavy is imported before an oracle is made: the command line reads the rows for its help.

Checked in tests/unit/oracles/test_models.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from localdp.accounting.epsilon import Epsilon
from localdp.errors import InvalidParameter
from localdp.oracles.model_row import NONE, Coins, CountNoise, OneCount, Options, Parties, TrustModel

if TYPE_CHECKING:
    from localdp.oracles.definition import StatisticalQueryOracle
    from localdp.oracles.shuffler import Shuffler
    from localdp.sharing.noise_plans import NoisePlan
    from localdp.sharing.summed_noise import SummedNoise

__all__ = [
    "DEFAULT_MODEL",
    "MODELS",
    "CountNoise",
    "ModelName",
    "OneCount",
    "Options",
    "Parties",
    "TrustModel",
    "delta_of",
    "model_named",
    "models_with",
    "oracle_of",
    "require_at_hand",
]

ModelName: TypeAlias = Literal["exact", "curator", "local", "shuffled", "flooded", "shared"]


def oracle_of(
    model: str | TrustModel,
    parties: Parties,
    epsilon: Epsilon | None,
    coins: Coins,
    options: Options = NONE,
) -> StatisticalQueryOracle:
    """The oracle of a trust model over these parties; a round of it costs each person epsilon."""
    row = model_named(model) if isinstance(model, str) else model
    settled = row.settled(options)
    require_at_hand(row, parties)
    if row.spends and epsilon is None:
        raise InvalidParameter(f'say what each person may spend: oracle("{row.name}", epsilon=1.0)')
    if row.needs_share_servers and parties.share_servers is None:
        raise InvalidParameter(
            f"{parties.said} no share servers: the {row.name} model needs at least two of them; start some, or use the "
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


def _flooded(parties: Parties, epsilon: Epsilon, coins: Coins, options: Options) -> StatisticalQueryOracle:
    from localdp.oracles.flooded import FloodedOracle

    delta, honest = delta_of(options["delta"]), fraction_of(options["honest"], "honest")
    extra, steps = fraction_of(options["extra"], "extra"), int(fraction_of(options["steps"], "steps", "16"))
    mixer, source = parties.mixer or _mixing_here(parties, coins), coins("analyst")
    return FloodedOracle(mixer, epsilon, source, delta=delta, honest=honest, steps=steps, extra=extra)


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
    return fraction_of(value, "a delta", "1e-6")


def fraction_of(value: Any, name: str, such: str = "0.9") -> Fraction:
    """A number as it was written down."""
    try:
        return Fraction(str(value))
    except (ValueError, ZeroDivisionError) as error:
        raise InvalidParameter(f"{name} is a number such as {such}") from error


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


def _flooded_noise(count: OneCount) -> SummedNoise:
    options = MODELS["flooded"].settled(count.options)
    noise: SummedNoise = _bounds().flooded_noise(
        count.epsilon,
        delta_of(options["delta"]),
        count.people,
        fraction_of(options["honest"], "honest"),
        fraction_of(options["extra"], "extra"),
    )
    return noise


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
        name="flooded",
        title="shuffled, flooded",
        honest="the shuffler, against whom nothing holds; and the other parties, who must draw their noise and not tell "
        "the analyst what they sent",
        colour="#56b4e9",
        mark="P",
        style="bright_blue",
        make=_flooded,
        predicted_error=lambda count: _flooded_noise(count).mean_absolute(),
        noise=_flooded_noise,
        options={"delta": Fraction(1, 10**6), "honest": Fraction(1), "steps": 16, "extra": Fraction(1)},
        needs_agents=True,
        needs_mixer=True,
        near="curator",
        sealed=True,
        cheaters="A cheater can send what it likes: each of its people moves a sum by as many messages as they send, which "
        "is one and a little more where a party has many people. Cheaters draw no noise, so the promise is for as many "
        "people as are honest at least.",
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
