"""The boosted-tree engine; knows no measure."""
