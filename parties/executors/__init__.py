"""Who runs blocks of work: this process, worker processes, or a Dask cluster.  One protocol for all.

Whatever sweeps, simulates or adds up reports goes through `running.run_blocks` or `running.merged`, and is handed an
`chosen.ChosenExecutor`.  The coins of a block follow from its number, so that results are equal whoever ran it, however
often it was begun, and who died meanwhile.
"""
