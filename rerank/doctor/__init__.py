"""Checks of files of judgements, runs, topics and features, and of index folders."""
