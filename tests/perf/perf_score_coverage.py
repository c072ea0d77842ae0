"""How often intervals cover the truth and tests reject it, on made-up scores: the whole study.

For each case, sets of scores of two equally good runs on videos with 1 to about 30 questions each
(``tests/clustered.py``), and draws anew for every 200 sets. In per cent:

    mean          95% BCa intervals of a run's mean that cover its true mean
    difference    95% percentile intervals of the difference that cover 0
    rejected      tests (bootstrap) that reject 0 at 5%
    swapped       the same by permutation, the check
    by question   difference and rejected again, with each question as if it were independent

A second table has the methods that were weighed, "normal tails" being percentiles without t.

Run: python -m tests.perf.perf_score_coverage [--sets 1000]
"""

import argparse
import time

import numpy as np

from score.statistics.design import Design, make_design
from score.statistics.estimate import bca_estimate, percentile_estimate
from score.statistics.limits import bca, percentile
from score.statistics.pvalue import bootstrap_p, permutation_p
from score.statistics.ratio import Cells
from score.statistics.resample import resample
from score.statistics.study import studies
from tests.clustered import TRUTH, Clustered, clustered, one_topic

AT_ONCE, RESAMPLES = 200, 2000
CHOICES = (
    "mean: BCa", "percentile", "normal tails",
    "difference: BCa", "percentile", "normal tails",
)  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=1000)
    n_sets = parser.parse_args().sets
    started = time.perf_counter()
    print(f"{n_sets} sets a case: a share of 5% is known to {margin(n_sets):.1f} points\n")
    print("| scores | videos | icc | mean | difference | rejected | swapped | by question |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    extremes = {"mean": [], "difference": [], "rejected": []}
    for kind in ("accuracy", "judge"):
        for n_clusters in (20, 40, 100, 231):
            for icc in (0.0, 0.1, 0.3, 0.5):
                design = one_topic(n_clusters)
                found = case(design, kind, icc, n_sets)
                print(line(kind, str(n_clusters), icc, found), flush=True)
                for name, values in extremes.items():
                    values.append(100 * found[name])
        for n_topics, per in ((13, 18), (5, 8), (4, 3)):
            design = make_design(
                (f"{topic:02}", f"{topic:02}/{number:03}")
                for topic in range(n_topics)
                for number in range(per)
            )
            for icc in (0.0, 0.5):
                found = case(design, kind, icc, n_sets)
                print(line(kind, f"{n_topics} topics of {per}", icc, found), flush=True)
    print("\n| scores | videos | " + " | ".join(CHOICES) + " |")
    print("| --- " * (2 + len(CHOICES)) + "|")
    for kind in TRUTH:
        for n_clusters in (20, 40):
            print(f"| {kind} | {n_clusters} | {choices(n_clusters, kind, n_sets)} |", flush=True)
    ranges = [f"{name} {min(some):.1f}–{max(some):.1f}" for name, some in extremes.items()]
    print(f"\n20 to 231 videos: {', '.join(ranges)}; {time.perf_counter() - started:.0f} s")


def case(design: Design, kind: str, icc: float, n_sets: int) -> dict[str, float]:
    """Shares of sets of one case."""
    rng = np.random.default_rng([len(design.clusters), int(10 * icc), kind == "judge"])
    over_topics = len(design.topics) > 1
    covered, by_question, swapped = [], [], []
    for block in range(n_sets // AT_ONCE):
        sets = clustered(rng, len(design.clusters), icc, AT_ONCE, kind)
        resamples = resample(design, block, RESAMPLES)
        mean, off = (
            Cells(made.numerators, made.denominators, over_topics)
            for made in map(sets.cells, (sets.candidate, sets.candidate - sets.baseline))
        )
        means = [bca_estimate(study, 0) for study in studies(resamples, [(1.0, mean)])]
        inside = [one.low <= TRUTH[kind] <= one.high for one in means]
        covered += zip(inside, *looked_at(resamples, off), strict=True)
        swapped += (permutation_p(resamples.signs, parts(design, off)) <= 0.05).tolist()
        if not over_topics and len(by_question) < 400:
            some = Clustered(sets.cluster, sets.baseline[:, :20], sets.candidate[:, :20])
            apart = some.item_cells(some.candidate - some.baseline)
            drawn = resample(one_topic(len(sets.cluster)), block, RESAMPLES)
            by_question += zip(*looked_at(drawn, apart), strict=True)
    names = ("mean", "difference", "rejected")
    shares = dict(zip(names, np.mean(covered, axis=0), strict=True))
    plain = np.mean(by_question, axis=0) if by_question else (np.nan, np.nan)
    return shares | {"swapped": np.mean(swapped), "plain": plain[0], "plain_rejected": plain[1]}


def choices(n_clusters: int, kind: str, n_sets: int) -> str:
    """Shares covered by methods that were weighed, at an icc of 0.5."""
    rng = np.random.default_rng([n_clusters, len(kind)])
    covered = []
    for block in range(n_sets // AT_ONCE):
        sets = clustered(rng, n_clusters, 0.5, AT_ONCE, kind)
        resamples = resample(one_topic(n_clusters), block, RESAMPLES)
        means, offs = (
            list(studies(resamples, [(1.0, sets.cells(values))]))
            for values in (sets.candidate, sets.candidate - sets.baseline)
        )
        for mean, off in zip(means, offs, strict=True):
            of_mean, of_off = (
                [
                    bca(one.valid, one.value, one.acceleration, 0.95, one.df),
                    percentile(one.valid, 0.95, one.df),
                    percentile(one.valid, 0.95),
                ]
                for one in (mean, off)
            )
            hit = [low <= TRUTH[kind] <= high for low, high in of_mean]
            covered.append(hit + [low <= 0 <= high for low, high in of_off])
    return " | ".join(f"{100 * share:.1f}" for share in np.mean(covered, axis=0))


def looked_at(resamples, off: Cells) -> tuple[list[bool], list[bool]]:
    """Whether the intervals of differences cover 0, and whether the tests reject it."""
    covers, rejects = [], []
    for study in studies(resamples, [(1.0, off)]):
        found = percentile_estimate(study, 0)
        covers.append(found.low <= 0 <= found.high)
        rejects.append(bootstrap_p(study.valid, study.value, study.df) <= 0.05)
    return covers, rejects


def parts(design: Design, off: Cells) -> np.ndarray:
    """What each video adds to the difference."""
    found = off.numerators.copy()
    for rows in design.rows_of_topic if off.over_topics else (slice(None),):
        found[rows] /= off.denominators[rows].sum(axis=0)
    return found


def line(kind: str, videos: str, icc: float, found: dict[str, float]) -> str:
    named = ("mean", "difference", "rejected", "swapped")
    plain = "–" if np.isnan(found["plain"]) else (
        f"{100 * found['plain']:.0f}, {100 * found['plain_rejected']:.0f}"
    )  # fmt: skip
    values = " | ".join(f"{100 * found[name]:.1f}" for name in named)
    return f"| {kind} | {videos} | {icc} | {values} | {plain} |"


def margin(n_sets: int) -> float:
    """Half the width of a 95% interval of a share of 5%, in points."""
    return 196 * (0.05 * 0.95 / n_sets) ** 0.5


if __name__ == "__main__":
    main()
