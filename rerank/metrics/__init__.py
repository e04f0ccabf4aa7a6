"""Measures of ranked lists; a file holds the measures of one subject."""
