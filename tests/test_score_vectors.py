"""Vectors kept on disk: found again by content, never trusted when damaged, never in the way."""

import json
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cache.gc import collect_garbage
from cache.merge import merge_stores
from cache.stats import store_stats
from cache.store import Store
from cache.verify import verify_store
from score.scoring import score
from score.similarity import Encoder
from score.vectors import Vector, Vectors
from tests.scored_runs import run_store, summary_item

DIGEST = "ab" * 32


def vector(first, *, is_long=False):
    return Vector(np.array([first, 1.0], dtype=np.float32), is_long)


def plain(vectors):
    return {text: (found.values.tolist(), found.is_long) for text, found in vectors.items()}


@given(st.dictionaries(st.text(), st.booleans(), max_size=8))
@settings(max_examples=40, deadline=None)
def test_what_was_kept_is_found_again(tmp_path_factory, texts):
    folder = tmp_path_factory.mktemp("kept")
    kept = {text: vector(row, is_long=is_long) for row, (text, is_long) in enumerate(texts.items())}
    assert Vectors(folder, DIGEST, "float32").add(kept)
    assert plain(Vectors(folder, DIGEST, "float32").get([*texts, "another"])) == plain(kept)


def test_a_lone_surrogate_is_a_text_like_any_other(tmp_path):
    vectors = Vectors(tmp_path, DIGEST, "float32")
    vectors.add({"\ud800": vector(1)})
    assert list(vectors.get(["\ud800", "?"])) == ["\ud800"]


def test_another_encoder_or_precision_has_its_own(tmp_path):
    Vectors(tmp_path, DIGEST, "float32").add({"a": vector(1)})
    assert Vectors(tmp_path, "cd" * 32, "float32").get(["a"]) == {}
    assert Vectors(tmp_path, DIGEST, "bfloat16").get(["a"]) == {}


def test_a_damaged_file_is_passed_over_and_said(tmp_path, caplog):
    vectors = Vectors(tmp_path, DIGEST, "float32")
    vectors.add({"a": vector(1)})
    vectors.add({"b": vector(2)})
    first = min(vectors.folder.iterdir())
    data = bytearray(first.read_bytes())
    data[-1] ^= 1
    first.chmod(0o644)
    first.write_bytes(data)
    assert len(vectors.get(["a", "b"])) == 1
    assert f"{first} is damaged" in caplog.text


def test_where_nothing_can_be_written_nothing_is_kept(tmp_path):
    (tmp_path / "file").write_text("no folder")
    vectors = Vectors(tmp_path / "file", DIGEST, "float32")
    assert not vectors.add({"a": vector(1)})
    assert vectors.get(["a"]) == {}


WRITER = """
import sys
import numpy as np
from pathlib import Path
from score.vectors import Vector, Vectors
folder, number = Path(sys.argv[1]), int(sys.argv[2])
vectors = Vectors(folder, "ab" * 32, "float32")
for turn in range(20):
    numbers = {f"{number} {turn} {n}": n for n in range(5)} | {"common": 0}
    made = {text: Vector(np.full(3, n, np.float32), False) for text, n in numbers.items()}
    assert vectors.add(made)
"""


def test_many_processes_add_without_locks(tmp_path):
    command = [sys.executable, "-c", WRITER, str(tmp_path)]
    writers = [subprocess.Popen([*command, str(number)]) for number in range(4)]
    assert [writer.wait() for writer in writers] == [0] * 4
    texts = [f"{number} {turn} {n}" for number in range(4) for turn in range(20) for n in range(5)]
    found = Vectors(tmp_path, DIGEST, "float32").get(texts)
    assert {text: int(one.values[0]) for text, one in found.items()} == {
        text: int(text.split()[-1]) for text in texts
    }


@pytest.fixture(scope="module")
def scored(tmp_path_factory):
    """A store with a long and a short text, scored once with its vectors kept in its index."""
    folder = tmp_path_factory.mktemp("scored") / "store"
    item = summary_item()
    said = {"summary_detailed": "word " * 400, "summary_short": ["A man sits down."]}
    store = run_store(folder, [([item], json.dumps(said))], tasks=("summary",))
    store.close()
    return folder, item, scores(folder, item)


def scores(folder, item):
    with Store(folder, read_only=True) as store:
        return score(store, [item], ["run-a"], encoder=Encoder(keep=folder / "index"))


def test_a_second_scoring_loads_no_model_and_says_the_same(scored, monkeypatch):
    folder, item, first = scored
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    again = scores(folder, item)
    assert again.scores.equals(first.scores)
    assert again.signature == first.signature
    assert first.signature["similarity"]["texts_truncated"] == 1


def test_only_new_texts_are_encoded(scored):
    folder, *_ = scored
    encoder, tracked = Encoder(keep=folder / "index"), []

    def track(rows, total, what):
        tracked.append(total)
        return rows

    found = encoder.encode(["A man sits down.", "A new text."], track=track)
    assert tracked == [1]
    assert np.abs(found - Encoder().encode(["A man sits down.", "A new text."])).max() < 1e-6


def test_the_stores_upkeep_leaves_the_vectors_alone(scored, tmp_path):
    folder, *_ = scored
    kept = sorted(path.name for path in folder.glob("index/embeddings-*/*.npy"))
    with Store(folder) as store:
        before = store_stats(store)
        assert verify_store(store).faults == []
        collect_garbage(store, apply=True)
        assert before.faults == 0
    with Store(tmp_path / "other", create=True) as other:
        merge_stores(other, [folder])
        assert verify_store(other).faults == []
    assert sorted(path.name for path in folder.glob("index/embeddings-*/*.npy")) == kept != []


def test_a_store_that_cannot_be_written_is_scored_all_the_same(tmp_path):
    item = summary_item()
    said = '{"summary_detailed": "A man enters.", "summary_short": ["A man sits down."]}'
    store = run_store(tmp_path / "store", [([item], said)], tasks=("summary",))
    store.close()
    index = tmp_path / "store" / "index"
    for file in index.iterdir():
        file.unlink()
    index.rmdir()
    index.write_text("in the way")  # not by its mode: whoever is root may write everywhere
    assert scores(tmp_path / "store", item).signature["similarity"]["texts"] == 4
    assert index.is_file()
