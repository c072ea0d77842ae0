"""``rejudge cache seal`` that stops in the middle of sealing, for tests that kill it there.

Before a part gets its name as a pack, the file ``$PACED/sealing`` is made, and waited for
``$PACED/release-seal``.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

import rejudge

_rename = Path.rename


def _slowly(self: Path, target: Path) -> Path:
    paced = Path(os.environ["PACED"])
    if self.parent.name == "parts":
        (paced / "sealing").touch()
        while not (paced / "release-seal").exists():
            time.sleep(0.05)
    return _rename(self, target)


if __name__ == "__main__":
    Path.rename = _slowly  # type: ignore[method-assign]
    rejudge.main()
