"""Runs against judgements: measures, significance, reports."""
