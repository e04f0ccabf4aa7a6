"""Features that search engines compute: a file per engine."""
