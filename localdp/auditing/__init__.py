"""Whether a randomizer keeps its claim: `exact_audit` follows every coin, `sampled_audit` bounds epsilon from below."""

from localdp.auditing.automatic import audit
from localdp.auditing.exact import exact_audit
from localdp.auditing.result import Audit
from localdp.auditing.sampled import sampled_audit

__all__ = ["Audit", "audit", "exact_audit", "sampled_audit"]
