"""Mechanisms of a curator, trusted or shared: by addition, and one that tells where the largest number is."""

from localdp.mechanisms.adder import Adder, SharesInProcess, TrustedCurator

__all__ = ["Adder", "SharesInProcess", "TrustedCurator"]
