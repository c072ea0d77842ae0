# shellcheck shell=bash
# job.sh: what every batch script does. There is nothing to edit here.
#
#   begin PART      open the files of this part of the work: $STATE/PART.events has a line each for
#                   started, signal, ended, requeued; $STATE/PART.json the result
#   attempt CMD…    run a command so that SLURM's warning reaches it. Its stdout is the result, its
#                   exit code is left in $code; once that is not 0, nothing more is attempted
#   tidy CMD…       run a command that changes no result; its failure is only said
#   finish          end the job as $code says
#
#   the command's exit code          the job
#   0                                ends with 0
#   1, with a result                 ends with 0: that some items failed is a result, too
#   75, or any after a warning       goes back to the queue under its own id, $RESTARTS times at most
#                                    (without a warning, when Ray was lost, 3 times; and 3 times
#                                    where nothing was answered before the warning)
#   any other                        ends with it; SLURM cancels the jobs that wait for this one
#
# SLURM's warning (--signal=B:USR1@120: the time is nearly up, or somebody preempts us) comes to the
# batch script alone, which passes it on. When SLURM ends a job it signals every process of it
# itself (TERM): then there is nothing to pass on, and whether the job comes back is SLURM's to say.

if [ -n "$BIN" ]; then PATH=$BIN:$PATH; fi
job=${SLURM_ARRAY_JOB_ID:-$SLURM_JOB_ID}
code=0 child='' signal='' part='' result='' scratch='' copy=''

begin() {
  part=$1
  mkdir -p "$STATE"
  result=$STATE/$part.json
  : >"$result"
  note started
}

note() { # EVENT [CODE]
  # By the shell alone: while SLURM ends a job, it ends any program that is started, too.
  TZ=UTC0 printf '{"at":"%(%FT%TZ)T","event":"%s","code":%d,"job":"%s","restart":%d,"node":"%s"}\n' \
    -1 "$1" "${2:-0}" "$job" "${SLURM_RESTART_COUNT:-0}" "$SLURMD_NODENAME" >>"$STATE/$part.events"
  echo "rejudge: $part: $1 ${2:-}" >&2
}

on_signal() {
  interrupted=yes
  signal=$1
  pass_on
}

pass_on() {
  if [ "$signal" = USR1 ] && [ -n "$child" ]; then kill -s USR1 "$child"; fi
}

trap 'on_signal USR1' USR1
trap 'on_signal TERM' TERM
trap clean EXIT

clean() { rm -rf "$scratch" "$copy"; }

attempt() {
  if [ "$code" != 0 ]; then return; fi
  if [ -n "$signal" ]; then
    code=75
    return
  fi
  "$@" >"$result" &
  child=$!
  pass_on # a warning that came while it started
  # A trapped signal ends `wait` early: only a `wait` that nothing interrupted has the exit code.
  while
    interrupted=''
    wait "$child"
    code=$?
    [ -n "$interrupted" ]
  do :; done
  child=''
}

tidy() {
  if [ "$code" -gt 1 ] || [ -n "$signal" ]; then return; fi
  "$@" >&2 || echo "rejudge: '$*' failed; nothing is lost by that" >&2
}

finish() {
  [ -z "$signal" ] || note "signal $signal"
  if [ "$code" = 1 ] && [ -s "$result" ] && ! grep -q '^  "error":' "$result"; then
    note ended 1
    code=0
  elif [ "$code" = 0 ]; then
    note ended 0
  else
    [ -z "$signal" ] || code=75
    note ended "$code"
    clean # now: a job that is requeued is ended at once
    case $code$signal in
      75USR1) requeue ;;
      75) note lost && requeue ;;
    esac
  fi
  cat "$result"
  exit "$code"
}

requeue() {
  local lost
  lost=$(grep -c "\"event\":\"lost\".*\"job\":\"$job\"" "$STATE/$part.events")
  if [ "$signal" = USR1 ] && [[ " ${OPTIONS[*]} " != *" --batch "* ]]; then # batches take a day
    grep -q '^  "called": [1-9]' "$result" || note idle
  fi
  if [ "${SLURM_RESTART_COUNT:-0}" -ge "$RESTARTS" ] || [ "$lost" -gt 3 ]; then
    note "restarted too often"
  elif [ "$(idle_attempts)" -gt 3 ]; then
    note "restarted in vain"
  # By its place in the array: the id of the last task is also that of the whole array.
  # It may end this script's scontrol, too, before that says that all is well.
  elif scontrol requeue "$job${SLURM_ARRAY_TASK_ID:+_$SLURM_ARRAY_TASK_ID}" || [ "$signal" = TERM ]; then
    note requeued
  else
    note "requeue refused"
  fi
}

idle_attempts() { # how many of this job's attempts, the last ones, ended with nothing answered
  grep "\"job\":\"$job\"" "$STATE/$part.events" | awk '
    /"event":"started"/ { idle = 0 }
    /"event":"idle"/ { idle = 1; count++ }
    /"event":"requeued"/ && !idle { count = 0 }
    END { print count + 0 }'
}

free_port() {
  python3 -c 'import socket; print(socket.create_server(("127.0.0.1", 0)).getsockname()[1])'
}

copy_data() { # to the node's own disk, where COPY_DATA says yes; keys do not know of paths
  if [ "$COPY_DATA" != yes ]; then return; fi
  copy=$SCRATCH/rejudge-data-$SLURM_JOB_ID
  attempt cp -R --preserve=timestamps "$DATA" "$copy"
  DATA=$copy
}
