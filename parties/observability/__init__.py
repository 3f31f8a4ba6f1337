"""What an operator can see of a running role: log lines and metrics, and nothing about any record.

Every call is one line and a few counts.  What goes in is fixed by the fields of `observer.Call`: the method, the caller, a
digest of the request, how many people, the epsilon, the public query, the outcome, the time.  Checked with canaries in
tests/unit/parties/observability/test_observability.py.
"""
