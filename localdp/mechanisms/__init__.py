"""Mechanisms of a curator, trusted or shared, that need addition only."""

from localdp.mechanisms.adder import Adder, SharesInProcess, TrustedCurator

__all__ = ["Adder", "SharesInProcess", "TrustedCurator"]
