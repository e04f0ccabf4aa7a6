"""Candidates of several retrievers: BM25, expanded queries, vectors, runs of other systems, and their union."""
