"""Benchmarks: what is asked, of which media, and what the right answer is.

    item.py       an Item and its parts                 registry.py   the benchmarks by name
    prompt.py     prompts and their templates           sonic_o1.py, omniassist.py   the loaders
    demo/         the bundled benchmark: media, annotations and the script that makes them

This package knows nothing of stores, engines or metrics.
"""
