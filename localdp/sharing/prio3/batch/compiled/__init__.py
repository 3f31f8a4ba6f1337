"""Prio3 for blocks of reports, compiled by numba: the same bytes as the numpy form and as the reference.

Nothing outside of `batch.engines` imports this package, and only where numba is installed.  It makes no claim of constant
time: compilers keep none, and a server's time may depend on shares.  A share is uniform, so that its own time says nothing
about the measurement; a *client's* machine that others can time should not shard with it.
"""
