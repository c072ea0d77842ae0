"""The ``judge status`` command."""

from __future__ import annotations

from pathlib import Path

import click

from rejudge import data_option, emit, json_option, store_option


@click.command()
@data_option
@store_option
@click.option("--judge", "names", multiple=True,
              help="A bundled judge, or the path of a .toml; repeatable.  "
                   "[default: the bundled ones that were asked]")  # fmt: skip
@json_option
def status(data: Path | None, store: Path, names: tuple[str, ...], as_json: bool) -> None:
    """Say how judges stand with all runs of a store: verdicts, failures, calls, tokens, cost.

    Nothing is called.

    Example: rejudge judge status --store ./store
    """
    import msgspec

    from cache.store import Store
    from score.judge.spec import load_specs, spec_names
    from score.judge.status import as_text
    from score.judge.status import status as look

    specs = load_specs(names or spec_names())
    with Store(store, read_only=True) as opened:
        found = look(opened, specs, data, every=bool(names))
    emit(msgspec.to_builtins(found), lambda: as_text(found), as_json=as_json)
