"""A model applied: candidates, features, scores, order and cut-off, for an index and for texts."""
