"""Reports in files: what a round asks, as a file; its answers, as Parquet; and estimates from those."""
