"""SLURM: batch scripts, and the commands that submit a chain of them and say how it stands."""
