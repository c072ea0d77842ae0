# shellcheck shell=bash
# serve.sh: a judge with open weights, served by vLLM on this job's GPUs, on a free port that only
# this node sees. There is nothing to edit here.

serve() { # WEIGHTS NAME OPTION…
  local weights=$1 name=$2 log=$STATE/$part.server port tries=0
  shift 2
  if [ "$code" != 0 ]; then return; fi
  if ! command -v curl >/dev/null; then
    code=3
    echo "rejudge: to serve a judge, this node needs curl: it says when vllm serve is up" >&2
    return
  fi
  port=$(free_port)
  vllm serve "$weights" --served-model-name "$name" --host 127.0.0.1 --port "$port" "$@" >"$log" 2>&1 &
  server=$!
  until curl --silent --fail --output /dev/null "http://127.0.0.1:$port/health"; do
    if [ -n "$signal" ] || ! kill -0 "$server" 2>/dev/null || [ $((tries += 1)) -gt 900 ]; then
      code=3
      echo "rejudge: vllm serve $weights did not come up; the end of $log:" >&2
      tail -n 5 "$log" >&2
      return
    fi
    sleep 2
  done
  served_at=http://127.0.0.1:$port/v1
}

stop_serving() {
  local tries=0
  [ -n "$server" ] || return
  kill "$server"
  while kill -0 "$server" && [ $((tries += 1)) -le 30 ]; do sleep 1; done
  kill -9 "$server"
} 2>/dev/null
