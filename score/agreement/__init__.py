"""How far judges agree: with each other, with people, and with formulas that no one would trust.

folder of scores ─┐
                  ├─ units ─► patterns ─ measures ─► values ─ resamples ─► estimates
labels (CSV) ─────┘       └─► ranking, failures, confusion
"""
