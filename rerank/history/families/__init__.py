"""Families of features that are learned from judgements: one file per family."""
