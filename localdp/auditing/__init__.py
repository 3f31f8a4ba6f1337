"""Whether a randomizer keeps its claim: `exact_audit` follows every coin, `sampled_audit` bounds epsilon from below.

`change_audit` follows every coin of a party over two epochs, between which a record changes or not.
"""

from localdp.auditing.automatic import audit
from localdp.auditing.exact import exact_audit
from localdp.auditing.histories import change_audit
from localdp.auditing.result import Audit, HistoryAudit
from localdp.auditing.sampled import sampled_audit

__all__ = ["Audit", "HistoryAudit", "audit", "change_audit", "exact_audit", "sampled_audit"]
