"""Benchmarks: what is asked, of which media, and what the right answer is.

    item.py, prompt.py   an Item and its parts; a Prompt    registry.py   the benchmarks by name
    sonic_o1.py          SONIC-O1's tree: videos.py, entries.py, timeline.py, demographics.py
    omniassist.py        OmniAssistBench's folder: labels.py, classes.py
    annotations.py       strict reading of JSON             media.py      which files are missing
    template.py          prompt templates: questions.py and dialogue.py make prompts of them
    cli.py               rejudge bench: search.py, view.py
    demo/                the bundled benchmark: media, annotations and the script that makes them

This package knows nothing of stores, engines or metrics.
"""
