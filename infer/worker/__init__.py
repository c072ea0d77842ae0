"""Models that run in an environment of their own, as a process that is asked over pipes."""
