"""Which frequency oracle to use: `choose`, by exact error formulas."""

from localdp.selection.candidates import Candidate
from localdp.selection.choice import Choice, choose
from localdp.selection.wishes import Target, Wishes

__all__ = ["Candidate", "Choice", "Target", "Wishes", "choose"]
