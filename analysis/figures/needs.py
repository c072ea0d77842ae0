"""What figures need beyond the base install."""

from __future__ import annotations

from importlib.util import find_spec

from analysis.errors import FeatureMissing

#: Package → what it is for.
NEEDS = {"altair": "writes the figures' specifications", "vl_convert": "draws them, offline"}


def require() -> None:
    """Check that figures can be drawn.

    Raises:
        FeatureMissing: something they need is not installed.
    """
    lacking = [f"{name} ({what})" for name, what in NEEDS.items() if find_spec(name) is None]
    if lacking:
        raise FeatureMissing(f"figures need {' and '.join(lacking)}: pip install 'rejudge[report]'")
