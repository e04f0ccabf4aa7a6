"""Families of features: each registers its class with `rerank.features.family.register`."""
