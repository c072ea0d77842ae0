"""Inference: items to requests to records, sharded with Ray.

    card.py        a model's settings, TOML in models/
    plan.py        prompts to requests, run lines, shards
    media/         probing and decoding of video, sound and captions
    engine.py      what an engine is; one file each in engines/
    run.py         one run from start to end; cli.py the ``infer`` command
    job.py         asking in a process of its own: driver.py, which starts Ray (cluster.py)
    pipeline.py    decode → engine → store, on Ray Data
    actor.py       one copy of the model, with its store (storing.py) and the budget ladder.py
    ledger.py      what asking did to engines: told by turns.py, and by journal.py after a death
    estimate.py    what a dry run says

Everything that needs ray, torch, vllm, transformers, librosa or PyAV lives here and imports
it where it is used.
"""
