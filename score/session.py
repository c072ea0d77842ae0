"""One ``rejudge score``: benchmark, store and judges by name to files of scores."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from cache.store import Store
from score.dictionary import load_dictionary
from score.explain import Explanation, explain
from score.output import write
from score.precision import FLOAT32
from score.profile import Profile, get_profile
from score.scoring import Scores, with_intervals
from score.scoring import score as score_runs
from score.similarity import Encoder
from score.track import Track, untracked


def score_store(
    benchmark: str,
    data: Path | None,
    store: Path,
    out: Path,
    *,
    runs: Sequence[str] = (),
    judges: Sequence[str] = (),
    profile: str = "strict",
    similarity: bool = True,
    encoder: Path | None = None,
    precision: str = FLOAT32,
    dictionary: str | None = None,
    track: Track = untracked,
) -> tuple[Scores, Profile]:
    """Score runs of a store and write the results.

    Args:
        benchmark: Name of the benchmark.
        data: Folder of its data; None for a bundled one.
        store: Folder of the store.
        out: Folder for the results.
        runs: Names of the runs; empty: all runs of this benchmark.
        judges: Names or files of judges whose verdicts are in the store.
        profile: Name of the profile.
        similarity: Whether text similarity is scored.
        encoder: Folder of the sentence encoder.
        precision: In which numbers it computes.
        dictionary: Name or file of the word categories of empathic summaries; None: not scored.
        track: Shows how far the encoder is.

    Returns:
        What was scored, and the profile.

    Raises:
        ScoreError: the profile is unknown, there is no run, or a run does not fit the benchmark.
        DictionaryError: there is no such dictionary, or it is not usable.
        FeatureMissing: similarity was asked for and its encoder is not installed.
    """
    from score.judge.spec import load_specs
    from score.runs import chosen_runs, items_of

    chosen = get_profile(profile)
    specs = load_specs(judges)
    made = Encoder(encoder, precision, keep=store / "index") if similarity else None
    categories = load_dictionary(dictionary) if dictionary is not None else None
    with Store(store, read_only=True) as opened:
        names = chosen_runs(opened, benchmark, runs)
        items = items_of(opened, benchmark, data, names)
        found = score_runs(
            opened,
            items,
            names,
            judges=specs,
            profile=chosen,
            encoder=made,
            dictionary=categories,
            track=track,
        )
    found = with_intervals(found)
    write(found, out)
    return found, chosen


def explain_item(
    benchmark: str,
    data: Path | None,
    store: Path,
    run: str,
    item: str,
    *,
    judges: Sequence[str] = (),
    profile: str = "strict",
    dictionary: str | None = None,
) -> list[Explanation]:
    """Explain how one item of a run was scored, one explanation a sample.

    Raises:
        ScoreError: the profile is unknown, or the run does not expect this item.
        DictionaryError: there is no such dictionary, or it is not usable.
    """
    from score.judge.spec import load_specs
    from score.runs import chosen_runs, items_of

    chosen = get_profile(profile)
    specs = load_specs(judges)
    categories = load_dictionary(dictionary) if dictionary is not None else None
    with Store(store, read_only=True) as opened:
        chosen_runs(opened, benchmark, [run])
        items = items_of(opened, benchmark, data, [run])
        return explain(
            opened, items, run, item, judges=specs, profile=chosen, dictionary=categories
        )
