"""The version of the package, in this place alone."""

__version__ = "0.1.0"
