#!/usr/bin/env bash
# Asks roofcast what $ARGUMENTS say and turns its exit code into a verdict: 0 yes, 3 no; anything else
# is a mistake and fails. Writes the answer into the job's summary.
set -uo pipefail
answer=$(mktemp)
trap 'rm -f "$answer"' EXIT
# The arguments are words of a shell, without its expansions.
mapfile -t words < <(xargs -n 1 printf '%s\n' <<<"$ARGUMENTS")
code=0
"${PROGRAM:-roofcast}" "${words[@]}" --output md >"$answer" || code=$?
cat "$answer"
cat "$answer" >>"${GITHUB_STEP_SUMMARY:-/dev/null}"
case $code in
  0) verdict=yes ;;
  3) verdict=no ;;
  *)
    echo "::error::roofcast failed with exit code $code"
    exit "$code"
    ;;
esac
echo "verdict=$verdict" >>"${GITHUB_OUTPUT:-/dev/null}"
[ "$verdict" = yes ] || [ "${ALLOW_NO:-false}" = true ] || {
  echo "::error::the answer is no (exit code 3)"
  exit 3
}
