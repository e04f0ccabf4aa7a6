"""HTTP service: search and reranking as JSON, and a page to search with. Needs the extra `service`."""
