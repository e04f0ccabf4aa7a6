"""The version of the package; `CITATION.cff` has it, too."""

__version__ = "1.0.0"
