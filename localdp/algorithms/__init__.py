"""Algorithms in the statistical-query model: each asks an oracle, and runs under every trust model."""
