"""Answers that users already have, from other suites' files, as records of this store.

sonic_o1.py      result JSON of the SONIC-O1 suite        omniassist.py   its reply CSV
lmms_eval.py     sample logs of lmms-eval                 read.py         the three by their names
answer.py        what they have in common                 failure.py      what an error's words tell
planned.py       which runs an import writes              imported.py     check all, then store
"""
