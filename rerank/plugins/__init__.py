"""Connections to frameworks of search, one module each; the framework is imported when its module is.

The extras `pyterrier` and so on install the framework of a module.
"""
