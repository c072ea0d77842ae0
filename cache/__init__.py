"""The store: content-addressed JSON lines that hold every raw model and judge output.

    request.py     what determines an answer            record.py     one line of the store
    canonical.py   the bytes a key is the sha256 of      store.py      the directory, put and get

This package knows nothing of benchmarks, engines or metrics.
"""
