"""The benchmarks of the project: `python -m benchmarks --list` names them, `python -m benchmarks NAME` runs one.

A benchmark is a function with the decorator `benchmark` in a file of this folder. It yields rows, dictionaries from the
name of a column to a value; rows with the same columns make a table. It prints nothing: the command line shows the rows
as they come, and writes tables, JSON and pictures.
"""
