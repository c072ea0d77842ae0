"""Resampling at a leaderboard's size, beside scipy and beside the bare matrix products.

    all          6 models, all 15 pairs, 13 metrics, 30 slices: 5,850 paired differences with
                 interval and p, 10,000 resamples of 231 videos in 13 topics
    bare         the two products (numerators and denominators by weights) that it rests on
    scipy        scipy.stats.bootstrap of one difference: of the questions as they are (which takes
                 them as independent), and of their sums by video (the same ratio as ours)

Ratios are of one run. Where others are at work on the machine the clock says more than it should;
CPU time is printed, too, and is right where OPENBLAS_NUM_THREADS is 1 (else threads wait in it).

Run: [OPENBLAS_NUM_THREADS=1] python -m tests.perf.perf_score_bootstrap
"""

import resource
import time

import numpy as np
import scipy.stats

from score.statistics.compare import Question, compare
from score.statistics.design import make_design
from score.statistics.estimate import bca_estimate, percentile_estimate
from score.statistics.groups import Groups
from score.statistics.panel import Panel, Reading
from score.statistics.pvalue import bootstrap_p
from score.statistics.ratio import Cells
from score.statistics.resample import resample
from score.statistics.study import studies

MODELS, METRICS, SLICES, VIDEOS, TOPICS, RESAMPLES = 6, 13, 30, 231, 13, 10_000
AT_ONCE = 128


def main():
    rng = np.random.default_rng(0)
    design = make_design((f"{at % TOPICS:02}", f"{at % TOPICS:02}/{at:03}") for at in range(VIDEOS))
    panels = made_up(design, rng)
    leaderboard(design, panels)
    questions(design, panels)
    videos(rng)


def made_up(design, rng):
    """A panel for each metric, of SONIC-O1's number of questions."""
    found = []
    for metric in range(METRICS):
        n = (231, 1335, 3392)[metric % 3]
        row = np.sort(np.concatenate([np.arange(VIDEOS), rng.integers(0, VIDEOS, n - VIDEOS)]))
        scored = (rng.random((n, MODELS)) > 0.02).astype(float)
        values = rng.random((n, MODELS)) + rng.normal(0, 0.3, VIDEOS)[row][:, None]
        runs, items = map(tuple, ([f"run-{at}" for at in range(MODELS)], map(str, range(n))))
        panel = Panel(
            "t", f"m{metric}", "", runs, items, row, values * scored, scored, scored * 0 + 1
        )
        weights = (rng.random((n, SLICES)) < rng.uniform(0.05, 0.7, SLICES)).astype(float)
        found.append((panel, Groups(tuple(f"s{at:02}" for at in range(SLICES)), weights)))
    return found


def leaderboard(design, panels):
    began, cpu = time.perf_counter(), time.process_time()
    resamples = resample(design, 0, RESAMPLES)
    found = []
    for panel, groups in panels:
        for at, baseline in enumerate(panel.runs[:-1]):
            question = Question(baseline, panel.runs[at + 1 :])
            found += compare(panel, groups, question, resamples)
    n = len(found)
    whole, whole_cpu = time.perf_counter() - began, time.process_time() - cpu
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    columns = np.random.default_rng(1).normal(size=(VIDEOS, n))
    began, cpu = time.perf_counter(), time.process_time()
    for start in range(0, n, AT_ONCE):
        for _ in range(2):
            columns[:, start : start + AT_ONCE].T @ resamples.counts
    bare, bare_cpu = time.perf_counter() - began, time.process_time() - cpu
    print(
        f"{n} comparisons × {RESAMPLES} resamples: {whole:.1f} s ({whole_cpu:.1f} s of CPU), at "
        f"most {most:.0f} MB; the bare products {bare:.1f} s ({bare_cpu:.1f} s): "
        f"{whole / bare:.1f} times as long, {whole_cpu / bare_cpu:.1f} of CPU"
    )


def questions(design, panels):
    """A comparison over all questions of a task: ours in videos, scipy's question by question."""
    resamples = resample(design, 0, RESAMPLES)
    for panel, _ in panels[1:3]:
        everything = Groups(tuple(map(str, range(40))), np.ones((len(panel.items), 40)))
        question = Question(panel.runs[0], panel.runs[1:])
        ours, found = timed(lambda: compare(panel, everything, question, resamples))  # noqa: B023
        means = panel.means(Reading.SCORED_ONLY)
        off = means[:, 1] - means[:, 0]
        off = off[~np.isnan(off)]
        scipys, _ = timed(lambda: scipys_interval((off,), np.mean, "percentile"))  # noqa: B023
        told(f"{len(panel.items)} questions", ours, len(found), scipys)


def videos(rng):
    """A comparison whose questions were added up by video before, for either."""
    sizes = np.maximum(1, np.rint(rng.lognormal(1.6, 0.7, VIDEOS)))
    sums = sizes * rng.normal(0.1, 0.5, VIDEOS)
    resamples = resample(make_design(("01", f"{at:03}") for at in range(VIDEOS)), 0, RESAMPLES)
    cells = Cells(np.repeat(sums[:, None], 200, axis=1), np.repeat(sizes[:, None], 200, axis=1))
    for method, estimate in (("percentile", percentile_estimate), ("BCa", bca_estimate)):
        ours, found = timed(
            lambda estimate=estimate: [
                (estimate(study, VIDEOS), bootstrap_p(study.valid, study.value, study.df))
                for study in studies(resamples, [(1.0, cells)])
            ]
        )
        scipys, theirs = timed(
            lambda method=method: scipys_interval((sums, sizes), ratio, method, paired=True)
        )
        told(f"{VIDEOS} sums, {method}", ours, len(found), scipys)
        low, high = found[0][0].low, found[0][0].high
        print(f"    [{low:.3f}, {high:.3f}] beside [{theirs.low:.3f}, {theirs.high:.3f}]")


def scipys_interval(data, statistic, method, **more):
    rng = np.random.default_rng(0)
    return scipy.stats.bootstrap(
        data, statistic, n_resamples=RESAMPLES, method=method, rng=rng, **more
    ).confidence_interval


def told(what, ours, n, scipys):
    ours = [one / n for one in ours]
    print(
        f"{what}: one of {n} comparisons {1e3 * ours[0]:.2f} ms ({1e3 * ours[1]:.2f} of CPU) with "
        f"its p, scipy {1e3 * scipys[0]:.0f} ms ({1e3 * scipys[1]:.0f}): "
        f"{scipys[0] / ours[0]:.0f} times as fast, {scipys[1] / ours[1]:.0f} of CPU"
    )


def ratio(sums, sizes, axis):
    return sums.sum(axis=axis) / sizes.sum(axis=axis)


def timed(work):
    """The least of three times, by the clock and of CPU, in seconds, and what came out."""
    times = []
    for _ in range(3):
        began, cpu = time.perf_counter(), time.process_time()
        found = work()
        times.append((time.perf_counter() - began, time.process_time() - cpu))
    return tuple(map(min, zip(*times, strict=True))), found


if __name__ == "__main__":
    main()
