"""Prio3 for blocks of reports, compiled or on numpy arrays; the same bytes as the reference for one report."""
