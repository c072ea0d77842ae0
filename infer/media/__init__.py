"""Decoding: exact frames, sound and captions of a stretch of a file, as arrays."""
