"""Loading a chain: the file as it is written, its paths made absolute, checked."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import msgspec

from slurm.chain import NAME, Chain
from slurm.check import check_chain
from slurm.errors import ChainError


def load_chain(path: Path) -> Chain:
    """Read a chain and check whatever can be checked before a job starts.

    Raises:
        ChainError: the file is not there, no TOML, or a field does not hold; says which.
        BenchError, InferError, ScoreError: an unknown benchmark, model or judge, or a faulty card.
    """
    chain = read_chain(path)
    try:
        check_chain(chain)
    except ChainError as error:
        raise ChainError(f"{path}: {error}") from error
    return chain


def read_chain(path: Path) -> Chain:
    """Read a chain without a look at the files it names: they may be gone since it was submitted.

    Raises:
        ChainError: the file is not there, no TOML, or a field is not of its kind; says which.
    """
    try:
        members = tomllib.loads(path.read_text("utf-8"))
        if "name" not in members and not re.fullmatch(NAME, path.stem):
            raise ChainError(
                f"{path}: the file's name, {path.stem!r}, cannot be the chain's: it may hold "
                'letters, digits and ._- only. Rename the file, or write name = "…" into it'
            )
        chain = msgspec.convert({"name": path.stem} | members, Chain)
    except OSError as error:
        raise ChainError(f"{path}: the chain cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ChainError(f"{path}: no valid TOML: {error}") from error
    except msgspec.ValidationError as error:
        raise ChainError(f"{path}: {_said(error)}") from error
    return _absolute(chain, path.absolute().parent)


def _absolute(chain: Chain, root: Path) -> Chain:
    def whole(text: str) -> str:
        return str(root / Path(text).expanduser()) if text else ""

    def file(name: str) -> str:
        return whole(name) if name.endswith(".toml") else name

    replace = msgspec.structs.replace
    return replace(
        chain,
        data=whole(chain.data),
        store=whole(chain.store),
        out=whole(chain.out),
        slurm=replace(chain.slurm, environment=whole(chain.slurm.environment)),
        infer=tuple(
            replace(one, model=file(one.model), prompts=whole(one.prompts)) for one in chain.infer
        ),
        judge=tuple(replace(one, name=file(one.name)) for one in chain.judge),
        score=replace(
            chain.score,
            encoder=whole(chain.score.encoder),
            # "example" is bundled; all else is a file.
            dictionary=chain.score.dictionary
            if chain.score.dictionary == "example"
            else whole(chain.score.dictionary),
        ),
    )


def _said(error: msgspec.ValidationError) -> str:
    """Put the field first: ``infer[0].time: …``."""
    text, _, place = str(error).partition(" - at `$")
    field = place.removesuffix("`").lstrip(".").replace("[...]", "")
    known = {"time": "as sbatch takes it, such as 08:00:00", "memory": "a size, such as 64G"}
    hint = known.get(field.rpartition(".")[2], "")
    more = f" ({hint})" if hint else ""
    return f"{field}: {text}{more}" if field else f"{text}{more}"
