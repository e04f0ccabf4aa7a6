"""Connections to frameworks of search, one file each; the framework is imported when its file is.

The extras `pyterrier` and so on install the framework of a file.
"""
