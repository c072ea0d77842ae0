# shellcheck shell=bash
# ray.sh: Ray inside an allocation. A folder of the job's own, ports that are free, and no more than
# its share of each node: several jobs can be on a node at once. There is nothing to edit here.

own_ray() {
  local gpus=0
  if [ -n "$SLURM_GPUS_ON_NODE" ]; then
    gpus=$SLURM_GPUS_ON_NODE
  elif [ -n "$CUDA_VISIBLE_DEVICES" ]; then # SLURM before 21.08
    gpus=$(awk -F, '{ print NF }' <<<"$CUDA_VISIBLE_DEVICES")
  fi
  # shellcheck disable=SC2153 # both names are SLURM's
  export RAY_OVERRIDE_RESOURCES="{\"CPU\": $SLURM_CPUS_ON_NODE, \"GPU\": $gpus}"
  scratch=$(mktemp -d "$RAY_DISK/rj-$SLURM_JOB_ID-XXXX")
  export RAY_TMPDIR=$scratch RAY_USAGE_STATS_ENABLED=0
}

ray_node() { # --head or --address=…; stays until it is ended
  ray start "$@" --block --temp-dir="$scratch/ray" --disable-usage-stats
}

# Not `ray symmetric-run`: it refuses to start where another job's Ray runs, ends with `ray stop`,
# which kills those of all our jobs on the node, and exits with 0 when its cluster did not start.
join_nodes() {
  local log=$STATE/$part.ray tries=0 others=$((SLURM_JOB_NUM_NODES - 1)) address client=()
  RAY_AUTH_TOKEN=$(od -An -N32 -tx1 /dev/urandom | tr -d ' \n') # no other user's driver may join
  export RAY_AUTH_MODE=token RAY_AUTH_TOKEN SCRIPTS ENVIRONMENT BIN
  # With grpc, Ray's head serves clients, on a fixed port if none is named.
  if python3 -c 'import grpc' 2>/dev/null; then client=(--ray-client-server-port="$(free_port)"); fi
  ray_node --head --port=0 --include-dashboard=false "${client[@]}" >"$log" 2>&1 &
  until [ -s "$scratch/ray/ray_current_cluster" ]; do wait_for_ray $! || return; done
  address=$(cat "$scratch/ray/ray_current_cluster")
  srun --nodes="$others" --ntasks="$others" --exclude="$SLURMD_NODENAME" \
    --cpus-per-task="$SLURM_CPUS_PER_TASK" bash "$SCRIPTS/ray-node.sh" "$address" >>"$log" 2>&1 &
  until [ "$(grep -c 'Ray runtime started' "$log")" = "$SLURM_JOB_NUM_NODES" ]; do
    wait_for_ray $! || return
  done
  export RAY_ADDRESS=$address
}

wait_for_ray() { # PROCESS: a little, as long as it is there and five minutes are not over
  if ! kill -0 "$1" 2>/dev/null || [ $((tries += 1)) -gt 600 ]; then
    code=3
    echo "rejudge: Ray did not start on all $SLURM_JOB_NUM_NODES nodes; the end of $log:" >&2
    tail -n 5 "$log" >&2
    return 1
  fi
  sleep 0.5
}
