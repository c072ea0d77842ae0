"""What ``rejudge score`` wrote, as comparisons need it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from score.checked import read_signature, read_table
from score.errors import ScoreError
from score.frames import SCORE_COLUMNS

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, slots=True)
class Scored:
    """A folder of scores."""

    scores: pl.DataFrame
    items: pl.DataFrame
    signature: Mapping[str, Any]

    @property
    def judges(self) -> list[str]:
        """Judges that scores know of, sorted."""
        return sorted(set(self.scores["judge"].unique()) - {""})

    @property
    def scales(self) -> dict[str, str]:
        """Judge → its scale, as text."""
        judges = self.signature.get("judges", {})
        return {name: json.dumps(spec.get("scale")) for name, spec in judges.items()}

    def runs(self) -> list[str]:
        """Return the runs, sorted."""
        return sorted(self.scores["run"].unique())

    def known_run(self, name: str) -> str:
        """Return a run's name.

        Raises:
            ScoreError: these scores have no such run.
        """
        if name not in self.runs():
            raise ScoreError(f"no run {name!r} here; there are: {', '.join(self.runs())}")
        return name

    def chosen_judge(self, asked: str | None) -> str:
        """Return the judge whose verdicts are compared: the one asked for, or the only one.

        Returns:
            Its name; "" where there is none.

        Raises:
            ScoreError: there is no such judge, or several and none was named.
        """
        listed = ", ".join(self.judges) or "none"
        if asked is not None and asked not in self.judges:
            raise ScoreError(f"no verdicts of judge {asked!r} here; there are: {listed}")
        if asked is None and len(self.judges) > 1:
            raise ScoreError(f"these scores have several judges, choose with --judge: {listed}")
        return asked or next(iter(self.judges), "")


def load(folder: Path) -> Scored:
    """Read a folder.

    Raises:
        ScoresMissing: the folder or a file in it is missing, unreadable, or not as it was written.
    """
    signature = read_signature(folder)
    scores = read_table(folder / "scores.parquet", SCORE_COLUMNS, signature)
    items = read_table(folder / "items.parquet", ("item",), signature)
    return Scored(scores, items, signature)
