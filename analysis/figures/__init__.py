"""Figures of scores: one specification for paper and page, as PDF, SVG or PNG.

    scores ─ data (Polars) ─ chart (Vega-Lite, by Altair) ─ vl-convert ─► PDF, SVG, PNG
                                     └─► NAME.vl.json for a page, NAME.made.json: how it was made

Each module draws one kind of figure; ``catalogue.py`` lists them, ``style.py`` says how all of them
look. A figure that the scores have nothing for is an error with its reason, never an empty picture.
"""
