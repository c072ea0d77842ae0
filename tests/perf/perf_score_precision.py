"""Reduced precision of the sentence encoder: how far from float32, and how fast, on real text.

The texts are those of the bundled benchmark, and summaries and rationales written like them. The
difference is that of the cosines of all pairs of texts. CPU time is that of encoding them anew.

Run: python -m tests.perf.perf_score_precision
"""

import random
import time

import numpy as np

from score.precision import PRECISIONS
from score.similarity import Encoder
from tests.perf.prose import real_texts, writer


def encoded(precision, texts):
    encoder = Encoder(precision=precision)
    encoder.load()
    encoder.encode(["warm"])
    started = time.process_time()
    vectors = encoder.encode(texts)
    return vectors, time.process_time() - started


def main():
    write = writer(random.Random(0))
    real = real_texts()
    texts = real + [write(n) for n in (200, 60, 40, 40, 40) for _ in range(30)]
    words = sum(len(text.split()) for text in texts)
    print(f"{len(real)} texts of the bundled benchmark, {len(texts) - len(real)} like them")
    exact, slowest = encoded("float32", texts)
    print(f"float32   {1e3 * slowest / words:.2f} ms of CPU a word")
    for precision in PRECISIONS[1:]:
        vectors, took = encoded(precision, texts)
        off = np.abs(vectors @ vectors.T - exact @ exact.T)[np.triu_indices(len(texts), 1)]
        print(
            f"{precision:<9} {1e3 * took / words:.2f} ms of CPU a word, {slowest / took:.2f} times "
            f"as fast; cosines differ by at most {off.max():.4f}, {off.mean():.5f} on average "
            f"({len(off):,} pairs)"
        )


if __name__ == "__main__":
    main()
