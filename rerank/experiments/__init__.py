"""Studies, learning curves and the demo."""
