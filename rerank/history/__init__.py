"""Features that are learned from judgements: what is learned, out of fold for the queries that it is learned from."""
