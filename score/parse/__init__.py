"""Parsing: the raw text of a response to a prediction, or to a reason why there is none.

Parsing is late: the store keeps what the model said, so a better parser rescores everything
without asking a model again. It never guesses: where two readings are possible, there is none.

    text ── visible ──► what is said after thinking
         ── document ─► JSON objects in it, and where they were cut off
         ── option, clock ─► values: option indices, seconds
         ── summary, choice, localization, assistant ─► predictions
"""
