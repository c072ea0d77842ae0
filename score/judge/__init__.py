"""Judges: they grade an answer against its reference, and their verdicts live in the store.

    spec.py      a judge as a TOML file        docket.py    pairs → distinct cases, their records
    rubric.py    criteria, versioned           decide.py    a case's records → verdict or failure
    fence.py     texts as data in a prompt     lookup.py    verdicts from the store (memory.py)
    request.py   spec × pair → request         estimate.py  what it would take (cost.py)
    verdict.py   reply text → verdict          grade.py     calls what is missing, within a budget
                                               status.py    how judges stand with a store's runs

    engine.py    who answers a round of work (work.py):
      service.py   a server, call by call      at a pace (pace.py), until it refuses (breaker.py)
      batch.py     a server, in batches        which the store remembers (batches.py)
      local.py     formulas, here
    said.py      what a server said: chat.py, responses.py, fault.py

A judge call is a request like any other: same store, keys, outcomes and resume. So a rescore with
the same judge costs nothing, and identical answers are judged once.
"""
