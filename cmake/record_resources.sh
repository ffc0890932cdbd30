#!/usr/bin/env bash
# record_resources.sh NVCC ARGUMENT... : runs nvcc and keeps what ptxas says of each kernel (its
# registers, spills and shared memory; nvcc must be given -Xptxas=-v) beside the object file, in
# OBJECT.resources. Everything else goes to stderr as usual.
set -uo pipefail

object=
previous=
for argument in "$@"; do
  [ "$previous" = -o ] && object=$argument
  previous=$argument
done

said=$(mktemp)
trap 'rm -f "$said"' EXIT
code=0
"$@" 2>"$said" || code=$?
[ -n "$object" ] && grep -E '^ptxas info|bytes stack frame' "$said" >"$object.resources"
grep -vE '^ptxas info|bytes stack frame|^$' "$said" >&2
exit $code
