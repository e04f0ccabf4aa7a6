"""Features of query-document pairs: one file per family."""
