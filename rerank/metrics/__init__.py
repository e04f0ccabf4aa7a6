"""Measures of ranked lists, one file each."""
