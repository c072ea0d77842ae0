"""Folders of scores as tables read them: known by what they hold, refused where damaged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner

from analysis.scores import load_scores
from cache.store import Store
from rejudge import cli
from score.errors import ScoresMissing
from score.frames import SCORE_COLUMNS
from score.output import write
from score.profile import STRICT
from score.scoring import score, with_intervals
from score.signature import content_sha256, signature
from score.similarity import Encoder
from score.weights import Weights
from tests.paper_scores import sonic_folder
from tests.score_folders import metric_rows, run_rows, score_folder
from tests.scored_runs import choice_answer, choice_item, run_store


def scored_choices(folder: Path, *letters: str) -> Path:
    """Score one run that answered each question with a letter; the first option is right."""
    items = [choice_item(number) for number in range(len(letters))]
    asked = [([item], choice_answer(letter)) for item, letter in zip(items, letters, strict=True)]
    store = run_store(folder / "store", asked)
    write(with_intervals(score(store, items, ["run-a"])), folder / "scores")
    return folder / "scores"


def test_the_digest_tells_scores_with_other_answers_apart(tmp_path: Path) -> None:
    # As many right and wrong ones: all that the signature counts is the same.
    one = load_scores(scored_choices(tmp_path / "one", "A", "B"))
    other = load_scores(scored_choices(tmp_path / "other", "B", "A"))
    again = load_scores(scored_choices(tmp_path / "again", "A", "B"))
    assert one.signature["counts"] == other.signature["counts"]
    assert one.digest != other.digest
    assert one.digest == again.digest


def test_the_signature_is_the_same_in_any_order_of_runs_and_items(tmp_path: Path) -> None:
    items = [choice_item(number) for number in range(3)]
    for run, letter in (("run-a", "A"), ("run-b", "B")):
        answers = [([item], choice_answer(letter)) for item in items]
        run_store(tmp_path, answers, name=run).close()
    with Store(tmp_path, read_only=True) as store:
        one = with_intervals(score(store, items, ["run-a", "run-b"]))
        other = with_intervals(score(store, items[::-1], ["run-b", "run-a"]))
    write(one, tmp_path / "one")
    write(other, tmp_path / "other")
    signed = (tmp_path / "one" / "signature.json").read_text()
    assert signed == (tmp_path / "other" / "signature.json").read_text()
    assert set(json.loads(signed)["tables"]) == {
        *("scores", "predictions", "verdicts", "errors", "items", "estimates")
    }


def test_a_content_is_the_same_in_any_order_and_after_a_file(tmp_path: Path) -> None:
    table = pl.DataFrame(
        {"item": ["b", "a"], "value": [0.5, None], "race": [["White"], []], "n": [2, 1]}
    )
    turned = table.select(reversed(table.columns)).reverse()
    table.write_parquet(tmp_path / "t.parquet")
    expected = content_sha256(table)
    assert content_sha256(turned) == expected
    assert content_sha256(pl.read_parquet(tmp_path / "t.parquet")) == expected
    assert content_sha256(table.with_columns(n=pl.Series([2, 2]))) != expected
    last_digit = pl.col("value") * (1 + 1e-15)
    assert content_sha256(table.with_columns(last_digit)) == expected


@pytest.mark.parametrize("name", ["scores", "items", "estimates"])
def test_a_table_that_was_changed_after_scoring_is_refused(tmp_path: Path, name: str) -> None:
    folder = scored_choices(tmp_path, "A", "B")
    path = folder / f"{name}.parquet"
    pl.read_parquet(path).head(1).write_parquet(path)
    with pytest.raises(ScoresMissing, match=f"{name}.parquet is not the one that signature.json"):
        load_scores(folder).table(name, ())


def test_a_folder_whose_signature_names_no_contents_is_read(tmp_path: Path) -> None:
    folder = scored_choices(tmp_path, "A", "B")
    path = folder / "signature.json"
    made = json.loads(path.read_text())
    del made["tables"]
    path.write_text(json.dumps(made))
    assert load_scores(folder).frame.height > 0


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (pl.col("value").cast(pl.String), "column value: it holds String, where numbers are"),
        (pl.lit(float("nan")).alias("value"), "column value: 2 of 2 rows are no finite number"),
        (pl.lit(float("-inf")).alias("value"), r"no finite number \(first: -inf\)"),
        (pl.lit(None, pl.String).alias("topic"), "column topic: 2 of 2 rows have nothing there"),
        (pl.lit(1).alias("run"), "column run: it holds Int32, where texts are expected"),
        (pl.lit(0.5).alias("sample"), "column sample: it holds Float64, where whole numbers"),
        (pl.lit("good").alias("status"), "column status: no status good; there are: scored"),
    ],
)
def test_a_column_that_scoring_does_not_write_is_named(
    tmp_path: Path, change: pl.Expr, said: str
) -> None:
    path = score_folder(tmp_path, metric_rows()) / "scores.parquet"
    pl.read_parquet(path).with_columns(change).write_parquet(path)
    with pytest.raises(ScoresMissing, match=said) as caught:
        load_scores(tmp_path)
    assert caught.value.exit_code == 3
    assert "rejudge score BENCH" in str(caught.value)


def test_attributes_that_are_no_lists_are_named(tmp_path: Path) -> None:
    path = sonic_folder(tmp_path) / "items.parquet"
    pl.read_parquet(path).with_columns(race=pl.lit("White")).write_parquet(path)
    with pytest.raises(ScoresMissing, match=r"items.parquet, column race: .* lists of texts"):
        _ = load_scores(tmp_path).items


@pytest.mark.parametrize(
    ("member", "said"),
    [
        ({"profile": None}, r"null.*\$\.profile"),
        ({"profile": "strict"}, r"str.*\$\.profile"),
        ({"judges": []}, r"array.*\$\.judges"),
        ({"judges": {"lexical": None}}, r"null.*\$\.judges"),
        ({"judges": {"lexical": {"scale": {"min": "0", "max": 5}}}}, r"str.*\$\.judges.*min"),
        ({"runs": {"alpha": {"settings": []}}}, r"array.*\$\.runs.*settings"),
        ({"similarity": {"texts": None}}, r"null.*\$\.similarity\.texts"),
        ({"tables": []}, r"array.*\$\.tables"),
    ],
)
def test_a_signature_of_another_shape_is_named(
    tmp_path: Path, member: dict[str, Any], said: str
) -> None:
    score_folder(tmp_path, run_rows(), **member)
    with pytest.raises(ScoresMissing, match=said) as caught:
        load_scores(tmp_path)
    assert "signature.json is not a signature of scores" in str(caught.value)


def test_scores_without_a_row_are_one_clear_sentence(tmp_path: Path) -> None:
    score_folder(tmp_path, [])
    for words in ([], ["--table", "main"], ["--paper", "omniassistbench"]):
        error = CliRunner().invoke(cli, ["tables", str(tmp_path), *words]).exception
        assert isinstance(error, ScoresMissing)
        assert str(error).startswith(f"{tmp_path} holds no scores: scores.parquet has no rows.")


def test_the_signature_is_the_same_wherever_the_encoders_folder_lies(tmp_path: Path) -> None:
    found = []
    for home in ("here", "there"):
        encoder = Encoder(folder=tmp_path / home / "mini")
        encoder._weights = Weights(tmp_path / home / "mini", str(tmp_path / home), "ab", "cd")
        made = signature(
            pl.DataFrame(schema=dict.fromkeys(SCORE_COLUMNS, pl.String)),
            headers=[], profile=STRICT, judges=[], encoder=encoder, truncated={},
        )  # fmt: skip
        found.append(made)
    assert found[0] == found[1]
    assert found[0]["similarity"]["model"] == "mini"
