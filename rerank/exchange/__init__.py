"""Models of other systems: one file per format, read into rankers of this package and written from them."""
