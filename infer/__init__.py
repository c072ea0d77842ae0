"""Inference: items to requests to records, sharded with Ray."""
