"""Inference: items to requests to records, sharded with Ray.

    card.py        a model's settings, TOML in models/
    plan.py        prompts to requests, run lines, shards
    media/         probing and decoding of video, sound and captions
    engine.py      what an engine is; one file each in engines/
    pipeline.py    decode → engine → store, on Ray Data
    run.py         one run from start to end; cli.py the ``infer`` command

Everything that needs ray, torch, vllm, transformers, decord, librosa or PyAV lives here and imports
it where it is used.
"""
