"""Scoring on the CPU: stored answers to predictions, metrics, verdicts and estimates."""
