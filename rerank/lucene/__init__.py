"""Building, searching and exporting Lucene indexes; the only package that uses Java."""
