"""`python -m rerank VERB`: the command where its script is not on the PATH."""

from rerank.cli.main import main

main()
