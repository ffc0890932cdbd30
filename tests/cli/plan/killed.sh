#!/bin/bash
# Kills `roofcast plan` several times while it searches, each time once its store holds more than
# before, lets it come to its end and compares with a plan that was not disturbed. About a second a
# kill, which is too long for every build: run it by hand after changes to plan, Evaluations or the
# store. Needs sqlite3.
#   tests/cli/plan/killed.sh build/release/bin/roofcast [KILLS]
set -euo pipefail

program=$(realpath "$1")
kills=${2:-3}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

plan=("$program" plan --model llama-3.1-8b --gpu h100,h200,l40s,a100 --threads 1
  --slo p95:ttft:400ms p95:tpot:30ms --request-rate 60 --num-prompts 8000
  --search tp=1,2 max_num_seqs=32-256*2 --probability 0.8)

kept() { sqlite3 plans.db 'SELECT count(*) FROM evaluations' 2>/dev/null || echo 0; }

for ((kill = 1; kill <= kills; ++kill)); do
  before=$(kept)
  "${plan[@]}" --store plans.db >/dev/null 2>&1 &
  child=$!
  while [ "$(kept)" -le "$before" ]; do
    kill -0 $child 2>/dev/null || { echo "it was over before kill $kill: give it more to do"; exit 1; }
    sleep 0.02
  done
  kill -KILL $child
  wait $child 2>/dev/null || true
  echo "kill $kill: $(kept) answers kept"
done

before=$(kept)
"${plan[@]}" --store plans.db >disturbed 2>/dev/null || [ $? -eq 3 ]
echo "at its end: $(kept) answers, $before of them from before"
"${plan[@]}" --no-store >undisturbed 2>/dev/null || [ $? -eq 3 ]
cmp disturbed undisturbed
echo "the same answer"
