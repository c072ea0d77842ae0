"""ROUGE-L of 200-word summaries: our own beside rouge-score, in one run, on one core.

Run: python tests/perf/perf_score_rouge.py
"""

import random
import time

from rouge_score.rouge_scorer import RougeScorer

from score.rouge import RougeL

VIDEOS, MODELS = 231, 6  # SONIC-O1's summaries: each reference meets the answers of six models
PAIRS = VIDEOS * MODELS
BASELINE_PAIRS = 60  # a sample: rouge-score takes milliseconds a pair


def words(rng):
    """20,000 made-up words with endings that are stemmed, and how often each is drawn."""
    syllables = ["ba", "con", "di", "fer", "gra", "hos", "in", "ju", "kel", "mo", "ner", "pat"]
    endings = ["", "s", "ed", "ing", "ly", "ation", "ness", "ful", "er"]
    made = {
        "".join(rng.choices(syllables, k=rng.randint(1, 4))) + rng.choice(endings)
        for _ in range(20_000)
    }
    vocabulary = sorted(made)
    return vocabulary, [1 / (rank + 1) for rank in range(len(vocabulary))]


def texts(n, length, rng):
    vocabulary, weights = words(rng)
    return [" ".join(rng.choices(vocabulary, weights, k=length)) + "." for _ in range(n)]


def main():
    rng = random.Random(0)
    references = texts(VIDEOS, 200, rng)
    pairs = [(references[n // MODELS], said) for n, said in enumerate(texts(PAIRS, 200, rng))]

    baseline = RougeScorer(["rougeL"], use_stemmer=True)
    started = time.process_time()
    expected = [baseline.score(*pair)["rougeL"].fmeasure for pair in pairs[:BASELINE_PAIRS]]
    baseline_s = (time.process_time() - started) / BASELINE_PAIRS

    ours = RougeL()
    started = time.process_time()
    found = ours.scores([one for one, _ in pairs], [one for _, one in pairs])
    ours_s = (time.process_time() - started) / PAIRS

    assert found[:BASELINE_PAIRS].tolist() == expected, "the values differ"
    print(
        f"rouge-score {1e3 * baseline_s:.2f} ms a pair ({BASELINE_PAIRS} pairs), ours "
        f"{1e3 * ours_s:.3f} ms ({PAIRS} pairs, words not seen before), equal to the last bit: "
        f"{baseline_s / ours_s:.0f} times as fast"
    )


if __name__ == "__main__":
    main()
