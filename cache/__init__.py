"""The store: content-addressed JSON lines that hold every raw model and judge output.

    store.py       the folder: put, get, missing, scan, frame, runs, media digests

    request.py     what determines an answer          record.py    one line of the store
    canonical.py   the bytes that a key is made of    run.py       which item was asked by which key
    layout.py      where what lies                    durable.py   files that are whole or not there
    part.py        one writer's open file             seal.py      parts become packs
    pack.py        sealed files                       live.py      parts of others, as they grow
    lines.py       records within bytes               salvage.py   records within damage
    index.py       where a key's records lie          finder.py    records, found and verified
    cover.py       which segments cover the packs     segment.py   sorted columns, on disk by
    order.py       which of several records answers                segment_file.py
    conflict.py    the others, counted and kept       quarantine.py  what does not verify
    verify.py      every byte, line and run           strangers.py   what no reader looks at

This package knows nothing of benchmarks, engines or metrics. ``docs/store-format.md`` is the
specification of the folder.
"""
