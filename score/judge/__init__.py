"""Judges: they grade an answer against its reference, and their verdicts live in the store.

    spec.py      a judge as a TOML file        docket.py    pairs → distinct cases, their records
    rubric.py    criteria, versioned           decide.py    a case's records → verdict or failure
    fence.py     texts as data in a prompt     lookup.py    verdicts from the store, no call
    request.py   spec × pair → request         estimate.py  calls, tokens, dollars beforehand
    verdict.py   reply text → verdict          grade.py     calls what is missing
    engine.py    who answers: chat.py (fault.py, breaker.py), local.py

A judge call is a request like any other: same store, keys, outcomes and resume. So a rescore with
the same judge costs nothing, and identical answers are judged once.
"""
