"""One file per objective: scores to gradient and curvature per document."""
