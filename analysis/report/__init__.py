"""The HTML report: a folder of files that a browser opens from disk, without server or network.

    source.py     what is reported: scores, predictions, verdicts; items and answers where at hand
    shown.py      metrics and numbers as readers see them
    board.py      leaderboard and slices        compared.py   comparisons
    agreed.py     agreement of judges           failed.py     failures and error types
    catalog.py    compact columns, by which the browser of answers filters
    entries.py    one item with every run's answer, for the chunks that are loaded on demand
    texts.py      texts too long for a chunk    media.py      where a player finds the media
    script.py     values as JavaScript          folder.py     files beside, then in place
    pages.py      the two pages                 site.py       all of it

Markup lies in ``templates/``, style and scripts in ``static/``. ``docs/report.md`` is for users.
"""
