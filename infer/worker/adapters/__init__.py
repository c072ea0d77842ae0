"""One file a model, run with the model's own interpreter; see docs/engines.md."""
