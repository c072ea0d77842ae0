"""Slices: means over subsets of the items by attribute.

    topic, duration, relation, requires_audio …   an item is in one slice
    race, gender, age, language                   in every group that is present in it

What the annotations do not say is the slice ``unknown``, never dropped. Groups are weighted by
presence (an item counts once in each of its groups) or by count (once for each of its people).
A slice with fewer scored items than the minimum says so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from score.aggregate import WHOLE, more_is_better
from score.answers import SCORED
from score.errors import ScoreError
from score.frames import DEMOGRAPHICS, UNKNOWN

if TYPE_CHECKING:
    import polars as pl

Weighting = Literal["presence", "count"]

#: Attributes that an item has one value of.
SINGLE = ("topic", "duration", "relation", "requires_audio", "sub_task", "major_task", "tier")
#: All attributes that slices are made of.
ATTRIBUTES = (*SINGLE, *DEMOGRAPHICS)


def membership(
    items: pl.DataFrame, attribute: str, weighting: Weighting = "presence"
) -> pl.DataFrame:
    """Return which slices each item belongs to.

    Args:
        items: Rows of ``items.parquet``.
        attribute: One of :data:`ATTRIBUTES`.
        weighting: What an item weighs in each of its groups.

    Returns:
        Rows of item, slice and weight.

    Raises:
        ScoreError: there is no such attribute.
    """
    import polars as pl

    if attribute not in ATTRIBUTES:
        raise ScoreError(f"no slices by {attribute!r}; there are: {', '.join(ATTRIBUTES)}")
    if attribute in SINGLE:
        value = pl.col(attribute)
        if items.schema[attribute] == pl.Boolean:
            value = pl.when(value).then(pl.lit("yes")).when(~value).then(pl.lit("no"))
        return items.select("item", _named(value).alias("slice"), pl.lit(1.0).alias("weight"))
    if weighting == "presence":
        present = items.select("item", pl.col(attribute).alias("slice")).explode("slice")
        slices = _named(pl.col("slice")).alias("slice")
        return present.select("item", slices, pl.lit(1.0).alias("weight"))
    people = items.select("item", pl.col("demographics")).explode("demographics")
    person = pl.col("demographics").struct
    return (
        people.select(
            "item",
            _named(person.field(attribute)).alias("slice"),
            # An item without annotated people is one of the unknown slice.
            person.field("count").fill_null(1).cast(pl.Float64).alias("weight"),
        )
        .group_by("item", "slice", maintain_order=True)
        .agg(pl.col("weight").sum())
    )


def slice_means(
    scores: pl.DataFrame,
    items: pl.DataFrame,
    attribute: str,
    *,
    weighting: Weighting = "presence",
    minimum: int = 1,
) -> pl.DataFrame:
    """Return the means over the items of each slice.

    Args:
        scores: Rows of ``scores.parquet``.
        items: Rows of ``items.parquet``.
        attribute: What the slices are made by.
        weighting: What an item weighs in each of its groups.
        minimum: The number of scored items, whatever their samples, below which ``is_enough`` is
            false.

    Returns:
        A row for each run × metric × judge × slice: n_expected, n_scored, mean (of the scored
        items), mean_all (failures counting as wrong; null where more is not better), is_enough.
        Values of slices that are too small are kept: the reader decides, the table says.

    Raises:
        ScoreError: there is no such attribute.
    """
    import polars as pl

    # Every item of the scores has a slice: one that the items' table lacks is unknown.
    joined = scores.join(
        membership(items, attribute, weighting), on="item", how="left"
    ).with_columns(pl.col("slice").fill_null(UNKNOWN), pl.col("weight").fill_null(1.0))
    scored = pl.col("status") == SCORED
    total = (pl.col("value") * pl.col("weight")).filter(scored).sum()
    return (
        joined.sort("item", "sample")  # sums in one order, whatever the order of the rows
        .group_by(*WHOLE, "slice", maintain_order=True)
        .agg(
            pl.len().cast(pl.Int64).alias("n_expected"),
            scored.sum().cast(pl.Int64).alias("n_scored"),
            total.alias("total"),
            pl.col("weight").filter(scored).sum().alias("weight_scored"),
            pl.col("weight").sum().alias("weight_expected"),
            pl.col("item").filter(scored).n_unique().alias("n_items"),
        )
        .with_columns(
            pl.when(pl.col("n_scored") > 0)
            .then(pl.col("total") / pl.col("weight_scored"))
            .alias("mean"),
            pl.when((pl.col("n_scored") > 0) & more_is_better())
            .then(pl.col("total") / pl.col("weight_expected"))
            .alias("mean_all"),
            (pl.col("n_items") >= minimum).alias("is_enough"),
        )
        .select(*WHOLE, "slice", "n_expected", "n_scored", "mean", "mean_all", "is_enough")
        .sort(*WHOLE, "slice")
    )


def _named(value: pl.Expr) -> pl.Expr:
    import polars as pl

    text = value.cast(pl.String)
    return pl.when(text.fill_null("") == "").then(pl.lit(UNKNOWN)).otherwise(text)
