"""Sources of candidates."""
