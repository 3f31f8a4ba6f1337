"""What a person asks, and what they read: verbs over an oracle, and results with labels, intervals and a price.

A verb takes a `StatisticalQueryOracle`, so it runs under every trust model; `parties.federated.verbs` puts the same
verbs on a federation, which is what `import localdp` offers.
"""
