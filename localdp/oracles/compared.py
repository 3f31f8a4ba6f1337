"""What is compared as a trust model: each model as it is, and some of them with other options, as rows of their own.

A variant has its model's oracle and claim.  Where one asks, it is an option of its model; where models stand beside each
other, in tables, plots and pages, it has a name, a colour and predictions like any row.

Checked in tests/unit/oracles/test_compared.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from localdp.errors import InvalidParameter
from localdp.oracles.models import MODELS, CountNoise, OneCount, Options, TrustModel


def _variant(servers: int, chosen: Options) -> TrustModel:
    """The row of the model that has these options, with others than its defaults, on so many share servers."""
    (row,) = [row for row in MODELS.values() if chosen.keys() <= row.options.keys()]

    def as_chosen(count: OneCount) -> OneCount:
        return replace(count, servers=servers, options={**count.options, **chosen})

    def predicted_error(count: OneCount) -> float:
        return row.predicted_error(as_chosen(count))

    def noise(count: OneCount) -> CountNoise | None:
        return row.noise(as_chosen(count))

    return replace(
        row,
        options={**row.options, **chosen},
        share_servers=servers,
        predicted_error=predicted_error,
        noise=noise,
    )


_VARIANTS = (
    replace(
        _variant(3, {"noise_plan": "joint"}),
        name="joint",
        title="shared with joint noise",
        honest="two of the three share servers",
        colour="#e69f00",
        mark="v",
        style="bright_yellow",
    ),
)
COMPARED: Mapping[str, TrustModel] = MappingProxyType({**MODELS, **{row.name: row for row in _VARIANTS}})


def compared_named(name: str) -> TrustModel:
    """The row of this name."""
    if name not in COMPARED:
        raise InvalidParameter(f"what is compared is one of {', '.join(COMPARED)}; got {name!s:.40}")
    return COMPARED[name]
