"""The only place that knows Java: building, searching and exporting Lucene indexes."""
