"""`rerank rankers`."""

from __future__ import annotations

import click


@click.command("rankers", short_help="list rankers and their parameters")
@click.argument("name", required=False)
def command(name: str | None) -> None:
    """List all rankers, or describe the parameters of the ranker NAME, which `rerank train -p` sets."""
    from rerank.cli.parameters import ELSEWHERE
    from rerank.rankers.parameters import declared_parameters, documentation
    from rerank.rankers.ranker import known_rankers, ranker_class

    rankers = known_rankers() if name is None else {name: ranker_class(name)}
    width = max(map(len, rankers))
    for each, ranker in rankers.items():
        click.echo(f"{each:{width}}  {str(ranker.__doc__).partition(chr(10))[0]}")
    if name is not None:
        declared = declared_parameters(rankers[name]).values()
        click.echo(f"\n{documentation(parameter for parameter in declared if parameter.name not in ELSEWHERE)}")
