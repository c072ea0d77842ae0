# shellcheck shell=bash
# env.sh: what every job of yours needs. Each batch script sources it, on the node where it runs.
# Jobs of `rejudge slurm submit` find the rejudge that you submitted with by themselves: you may have
# nothing to change.

# module load cuda/12.6
# source "$HOME/rejudge/.venv/bin/activate"
# source "$HOME/.keys"                # export OPENAI_API_KEY=…, readable by you alone
# export HF_HOME=/scratch/$USER/huggingface

# Weights come from the cache above: compute nodes often have no network.
# export HF_HUB_OFFLINE=1

# Fast disk of the node, for copies of the media (COPY_DATA). SLURM removes it at a job's end.
export SCRATCH=${SLURM_TMPDIR:-${TMPDIR:-/tmp}}

# Where Ray keeps its sockets and logs. Short: a socket's path has room for 107 characters, and Ray
# takes 68 of them.
export RAY_DISK=/tmp
