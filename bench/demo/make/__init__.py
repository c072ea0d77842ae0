"""The maker of the bundled benchmark.

::

    scenes/ dialogues/      what happens, said as data, and how it is drawn
      script.py             the words of that data: Say, Do, Cut, Choice, Moment …
      voice.py, effects.py  espeak-ng and small synthesized sounds
      timeline.py           lays the beats out: every time follows from what was really spoken
      canvas.py, people.py, rooms.py, things.py   drawing
      encode.py             frames and sound to H.264/AAC files by ffmpeg
      annotate.py, assistant.py   the two benchmarks' own files

Needs ``ffmpeg`` and ``espeak-ng`` on the PATH, and Pillow. Run ``python -m bench.demo.make``.
"""
