"""Intervals, tests and comparisons: what the scores would be with other videos of the same kind.

    scores ── panel ─► values, items × runs ── sums per cluster ─┐
                                                                 ├─ ratio ─► replicates
    clusters ── design ─► strata ── resample ─► weights ─────────┘                │
                             limits, pvalue: intervals and tests  ◄───────────────┤
                             estimate, compare, contrast: rows    ◄───────────────┘

One matrix of weights serves all runs, metrics, judges and slices, so everything is paired. The
unit of resampling is the cluster (video or dialogue): questions on one video are not independent.
``docs/statistics.md`` has the methods, their sources, and when not to use them.
"""
