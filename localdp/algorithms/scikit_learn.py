"""What scikit-learn asks of a learner beyond conventions: tags, and its own kinds of error and warning.

scikit-learn is no dependency.  Tags are asked for by scikit-learn itself, so it is imported there; its errors and warnings
are used only in a process that has it already, for whoever never imported it cannot expect them.

Checked in tests/contract/test_scikit_learn.py.
"""

from __future__ import annotations

import functools
import sys
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from localdp.errors import InvalidParameter

if TYPE_CHECKING:
    from sklearn.utils import Tags


class NotFitted(InvalidParameter):
    """A learner was asked for what it has not learned yet."""


@dataclass(frozen=True, slots=True)
class Nature:
    """What kind of estimator a learner is."""

    kind: Literal["classifier", "regressor", "transformer", "clusterer"] | None = None
    many_classes: bool = False  # a classifier of more than two
    over_bits: bool = (
        False  # features are bits: numbers count as whether they are above the middle of their bounds
    )
    categories: bool = False  # features may be categories
    poor_score: bool = False  # its hypotheses are too few for the blobs that scikit-learn's checks make
    transforms: bool = False


def not_fitted(message: str) -> NotFitted:
    """The error of a learner that is not fitted; in a process with scikit-learn it is a `NotFittedError` as well."""
    return (_not_fitted_there() if _is_here() else NotFitted)(message)


def _is_here() -> bool:
    """Whether somebody has imported scikit-learn."""
    return sys.modules.get("sklearn") is not None


@functools.cache
def _not_fitted_there() -> type[NotFitted]:
    from sklearn.exceptions import NotFittedError

    return type("NotFitted", (NotFitted, NotFittedError), {"__doc__": NotFitted.__doc__})


def warn_of_column_vector() -> None:
    """Say that y has a column for nothing."""
    message = "A column-vector y was passed when a 1d array was expected: it is read as y.ravel()"
    if _is_here():
        from sklearn.exceptions import DataConversionWarning

        warnings.warn(message, DataConversionWarning, stacklevel=4)
    else:
        warnings.warn(message, UserWarning, stacklevel=4)


def tags_of(nature: Nature, *, draws: bool) -> Tags:
    """The tags of a learner; `draws` says that two fits differ by their noise."""
    from sklearn.utils import ClassifierTags, RegressorTags, Tags, TargetTags, TransformerTags

    classifies, regresses = nature.kind == "classifier", nature.kind == "regressor"
    return Tags(
        estimator_type=nature.kind,
        target_tags=TargetTags(required=classifies or regresses, one_d_labels=classifies),
        transformer_tags=TransformerTags() if nature.transforms else None,
        classifier_tags=ClassifierTags(poor_score=nature.poor_score, multi_class=nature.many_classes)
        if classifies
        else None,
        regressor_tags=RegressorTags() if regresses else None,
        non_deterministic=draws,
        input_tags=_input_tags()(categorical=nature.categories, bits=nature.over_bits),
    )


@functools.cache
def _input_tags() -> type:
    from sklearn.utils import InputTags

    @dataclass(slots=True)
    class LearnerInputTags(InputTags):  # type: ignore[misc]
        """`bits`: every feature is read as a bit."""

        bits: bool = False

    return LearnerInputTags
