"""Profiles: which reading of the definitions is scored.

``strict`` (the default) does what the definitions say, and counts failures where they are.
``sonic-o1-reference`` repeats what the published scorer of SONIC-O1 does, its quirks included, so
that its numbers can be reproduced. ``omniassist-reference`` is OmniAssistBench's, of which no quirk
is known but how sums are rounded: what has no verdict is in no mean, as in ``strict``.
``docs/scoring.md`` lists where they differ.
"""

from __future__ import annotations

from dataclasses import dataclass

from score.errors import ScoreError


@dataclass(frozen=True, slots=True)
class Profile:
    """One way to score. The defaults are the strict ones."""

    name: str = "strict"
    judge_failure_is_zero: bool = False
    """A judge call that failed, or whose reply cannot be read, counts as score 0."""
    missing_time_is_zero: bool = False
    """A bound that was not given counts as 0 s."""
    letter_or_index: bool = False
    """A choice is right when either its letter or its index is, and wrong when it has neither."""
    empty_summary_is_scored: bool = False
    """An empty summary has ROUGE-L 0 and the similarity of the empty text."""
    last_entry_only: bool = False
    """Of entries on the same video and segment only the last is expected: ``overwrite.py``."""
    same_interval_tiou: float = 1.0
    """The tIoU of two equal intervals without length."""
    exact_sums: bool = True
    """Means are rounded once, whatever the order of the items; else as numpy adds them up."""
    with_cider: bool = False
    """CIDEr of summaries and rationales is scored, too."""


STRICT = Profile()
SONIC_O1_REFERENCE = Profile(
    name="sonic-o1-reference",
    judge_failure_is_zero=True,
    missing_time_is_zero=True,
    letter_or_index=True,
    empty_summary_is_scored=True,
    last_entry_only=True,
    same_interval_tiou=0.0,
    exact_sums=False,
    with_cider=True,
)
OMNIASSIST_REFERENCE = Profile(name="omniassist-reference", exact_sums=False)
PROFILES = {profile.name: profile for profile in (STRICT, SONIC_O1_REFERENCE, OMNIASSIST_REFERENCE)}


def get_profile(name: str) -> Profile:
    """Return a profile by its name.

    Raises:
        ScoreError: there is none of this name; the message lists those there are.
    """
    if name not in PROFILES:
        raise ScoreError(f"no profile {name!r}; there are: {', '.join(PROFILES)}")
    return PROFILES[name]
