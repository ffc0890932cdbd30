#!/usr/bin/env bash
# kernel_resources.sh REPORT OBJECT... : one line a kernel and architecture into REPORT, from what
# record_resources.sh left beside the object files; shared memory that a launch asks for is not
# among it. Says which kernels spill registers to memory, as they would be bound by that and time
# something else than what they stand for; with --strict before REPORT these are an error.
set -euo pipefail

strict=false
[ "$1" = --strict ] && strict=true && shift
report=$1
shift
resources=()
for object in "$@"; do
  [ -e "$object.resources" ] && resources+=("$object.resources")
done

demangled() {
  local demangle
  demangle=$(command -v c++filt || echo cat)
  "$demangle" | sed 's/roofcast::kernels::cuda:://g; s/(anonymous namespace):://g'
}

{
  printf '%-8s %9s %12s %12s %13s  %s\n' target registers spill_stores spill_loads static_shared kernel
  # "ptxas info : Compiling entry function 'NAME' for 'sm_90a'", "N bytes stack frame, N bytes spill
  # stores, N bytes spill loads", "ptxas info : Used N registers, ..., N bytes smem, ..."
  awk '
    /Compiling entry function/ { split($0, part, "\x27"); kernel = part[2]; target = part[4] }
    /bytes spill stores/ { stores = $5; loads = $9 }
    /: Used [0-9]+ registers/ {
      registers = shared = 0
      for (i = 2; i <= NF; ++i) {
        if ($i ~ /^registers/) registers = $(i - 1)
        if ($i ~ /^smem/) shared = $(i - 2)
      }
      printf "%-8s %9d %12d %12d %13d  %s\n", target, registers, stores, loads, shared, kernel
    }' /dev/null "${resources[@]}" | sort -k6,6 -k1,1 | demangled
} >"$report"

spilling=$(awk 'NR > 1 && $3 + $4 > 0' "$report")
if [ -n "$spilling" ]; then
  printf 'kernels that spill registers (%s):\n%s\n' "$report" "$spilling" >&2
  ! $strict
fi
