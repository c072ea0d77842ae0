"""LaTeX documents that tests compile, by the pdfLaTeX of this machine."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.programs import needed

PREAMBLE = r"""\documentclass{article}
\usepackage[a4paper,margin=2cm]{geometry}
\usepackage{booktabs}
\usepackage{xcolor}
\newsavebox\measured
\begin{document}
"""


def compiled(folder: Path, text: str) -> str:
    """Compile a document that holds ``text``, and return the log."""
    pdflatex = needed("pdflatex", packages="texlive-latex-base texlive-latex-recommended")
    (folder / "tables.tex").write_text(PREAMBLE + text + "\n\\end{document}\n", encoding="utf-8")
    done = subprocess.run(
        [pdflatex, "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "tables.tex"],
        cwd=folder,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=120,
    )
    assert done.returncode == 0, done.stdout[-2000:]
    assert (folder / "tables.pdf").stat().st_size > 1000
    return done.stdout
