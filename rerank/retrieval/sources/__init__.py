"""Sources of candidates, one file each."""
