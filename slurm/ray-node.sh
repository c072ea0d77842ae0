#!/bin/bash
# ray-node.sh: one further node of a job's Ray cluster. infer-multinode.sbatch starts it with srun.
# shellcheck source=env.sh
source "$ENVIRONMENT"
source "$SCRIPTS/job.sh"
source "$SCRIPTS/ray.sh"
own_ray
ray_node --address="$1"
