"""Prose for measurements: the bundled benchmark's texts, and more that is written like them."""

from collections import defaultdict

from bench import registry
from bench.item import ChoiceReference, IntervalReference, SummaryReference


def real_texts():
    """Every reference text, question and option of the bundled benchmark, each once."""
    found = []
    for item in registry.get("demo").load(None):
        found += [item.question, *item.options]
        match item.reference:
            case SummaryReference(detailed, short):
                found += [detailed, *short, " ".join(short)]
            case ChoiceReference(_, rationale) | IntervalReference(_, _, rationale):
                found.append(rationale)
    return sorted({text for text in found if text.strip()})


def writer(rng):
    """Return a function that writes n words: each follows two others as it does in a real text."""
    following, openings = defaultdict(list), []
    for text in real_texts():
        words = text.split()
        openings.append(tuple(words[:2]))
        for before, between, after in zip(words, words[1:], words[2:], strict=False):
            following[before, between].append(after)

    def write(n):
        written = []
        while len(written) < n:
            written += rng.choice(openings)
            while len(written) < n and (after := following.get(tuple(written[-2:]))):
                written.append(rng.choice(after))
        return " ".join(written[:n])

    return write
