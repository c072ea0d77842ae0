"""Draws ``radar.png``: the SONIC-O1 paper's Figure 1 from the values of its Tables A5 to A7.

python docs/images/radar.py
"""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import polars as pl
from PIL import Image

from analysis.figures.catalogue import Picture, picture
from analysis.figures.figure import Source
from analysis.figures.radar import radar
from analysis.published import published_values
from analysis.scores import Scores
from analysis.spec import load_paper

SCALE = {"min": 0, "max": 10, "integer": True}


def published_scores() -> Scores:
    """Return the paper's means as scores: one a model and topic."""
    topics = {str(int(name[:2])): name for name in load_paper("sonic-o1").topics}
    values = published_values("sonic-o1", ["A5", "A6", "A7"]).filter(pl.col("metric") == "judge")
    frame = values.select(
        pl.col("model").alias("run"),
        "model",
        pl.lit("published values").alias("benchmark"),
        pl.lit("summary").alias("task"),
        pl.col("group").alias("item"),
        pl.lit(0, pl.Int64).alias("sample"),
        pl.col("group").replace_strict(topics).alias("topic"),
        pl.col("group").alias("cluster"),
        pl.lit("detailed_judge").alias("metric"),
        pl.lit("gpt-5-mini").alias("judge"),
        pl.col("value").cast(pl.Float64),
        pl.lit("scored").alias("status"),
        pl.lit("").alias("reason"),
    )
    return Scores(frame, {"judges": {"gpt-5-mini": {"scale": SCALE}}}, Path())


if __name__ == "__main__":
    (figure,) = radar(Source(published_scores(), "gpt-5-mini"))
    drawn = Image.open(BytesIO(picture(figure, Picture.PNG, dots_per_inch=130)))
    # Few colours are enough, and a third of the bytes.
    drawn.convert("RGB").quantize(64).save(Path(__file__).with_suffix(".png"), optimize=True)
