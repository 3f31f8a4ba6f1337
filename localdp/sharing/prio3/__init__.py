"""Prio3: secret-shared sums of measurements that are proved to be well formed."""

from localdp.sharing.prio3.prio3 import Prio3, Report, VerifyState
from localdp.sharing.prio3.scalar_circuits import Count, Sum
from localdp.sharing.prio3.vector_circuits import HistogramCircuit, MultihotCountVec, SumVec

__all__ = [
    "Count",
    "HistogramCircuit",
    "MultihotCountVec",
    "Prio3",
    "Report",
    "Sum",
    "SumVec",
    "VerifyState",
]
