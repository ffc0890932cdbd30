#!/usr/bin/env bash
# The capacity gate by exit codes, and whether YAML of deploy/ can be read.
#   tests/deploy/gate_test.sh PROGRAM
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
export PROGRAM
PROGRAM=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
fail() {
  echo "deploy: FAILED: $*" >&2
  exit 1
}
gate() { # gate ARGUMENTS: sets code, and the files out, summary and output
  : >summary
  : >output
  code=0
  ARGUMENTS=$1 GITHUB_STEP_SUMMARY=summary GITHUB_OUTPUT=output \
    bash "$root/deploy/capacity-gate/gate.sh" >out 2>&1 || code=$?
}
gate "memory --model llama-3.1-8b --gpu h100"
[ $code -eq 0 ] && grep -qx "verdict=yes" output && grep -q "Fits" summary || fail "a yes: $code, $(cat out)"
gate "memory --model llama-3.1-70b --gpu l40s"
[ $code -eq 3 ] && grep -qx "verdict=no" output && grep -q "Does not fit" summary || fail "a no: $code, $(cat out)"
ALLOW_NO=true gate "memory --model llama-3.1-70b --gpu l40s"
[ $code -eq 0 ] && grep -qx "verdict=no" output || fail "an allowed no: $code, $(cat out)"
gate "memory --model 'no such' --gpu h100"
[ $code -eq 2 ] && ! grep -q verdict output || fail "a mistake: $code, $(cat out)"
gate 'memory --model $(touch ran) --gpu h100'
[ $code -ne 0 ] && [ ! -e ran ] || fail "arguments were executed"
python=/usr/bin/python3
if "$python" -c 'import yaml' 2>/dev/null; then
  "$python" -c 'import sys, yaml; [list(yaml.safe_load_all(open(f))) for f in sys.argv[1:]]' \
    "$root"/deploy/capacity-gate/action.yml "$root"/deploy/chart/Chart.yaml "$root"/deploy/chart/values.yaml ||
    fail "YAML that cannot be read"
fi
echo "deploy: ok"
