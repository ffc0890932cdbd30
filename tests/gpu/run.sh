#!/usr/bin/env bash
# All that needs an NVIDIA GPU, in one go of at most ten minutes: every CUDA kernel against its
# reference, the calibration, real runs of models beside their estimate, and PyTorch on the same
# shapes where it is installed. Ends in a short table.
#
#   OUT=FOLDER tests/gpu/run.sh
#
# Leaves in OUT (default build/gpu-results): profile.json, runs.db, report.txt, logs.tar.gz,
# torch.json; runs.db packed when it is large. What is done is there at any moment, also when the
# whole is stopped.
# Programs: those of build/gpu/bin when they are there (tests/gpu/pack makes them for a machine
# without the libraries); else built here by the preset "gpu". A part that fails or runs out of its
# time is named at the end; the others go on.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit
repository=$PWD
out=${OUT:-build/gpu-results}
mkdir -p "$out"
out=$(cd "$out" && pwd)
rm -f "$out/profile.json" "$out/torch.json" # of an earlier run, which would stand for this one's
logs=$(mktemp -d)
began=$SECONDS
limit_s=${LIMIT_S:-585}
failed=()

say() { printf 'gpu: %s (%d s)\n' "$*" $((SECONDS - began)); }

# left SECONDS: at most so many, and never past the end of the whole run.
left() {
  local rest=$((limit_s - (SECONDS - began)))
  echo $((rest < $1 ? (rest > 1 ? rest : 1) : $1))
}

keep_logs() { tar -czf "$out/logs.tar.gz" -C "$logs" .; }

# part NAME SECONDS COMMAND...: runs it with a log of its own; false when it failed.
part() {
  local name=$1 most=$2 status=0
  shift 2
  say "$name"
  # A program that waits for a GPU that hangs may not hear the first signal.
  timeout -k 5 "$(left "$most")" "$@" >"$logs/$name.log" 2>&1 || status=$?
  if [ "$status" -ne 0 ]; then
    echo "ended with status $status (124, 137: out of time)" >>"$logs/$name.log"
    failed+=("$name")
    tail -n 15 "$logs/$name.log"
  fi
  keep_logs
  return "$status"
}

# ---- programs

if [ ! -x build/gpu/bin/roofcast ]; then
  say "building"
  { cmake --preset gpu && cmake --build --preset gpu; } >"$logs/build.log" 2>&1 ||
    { tail -n 30 "$logs/build.log"; keep_logs; exit 1; }
fi
# cuBLASLt, cuDNN and NCCL may lie in NVIDIA's wheels only, beside PyTorch. For the programs built
# here alone: Python brings libraries of its own.
wheels=$(python3 -c 'import glob, sysconfig
print(":".join(sorted(glob.glob(sysconfig.get_path("purelib") + "/nvidia/*/lib"))))' 2>/dev/null)
libraries=$repository/build/gpu/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}${wheels:+:$wheels}
bin=$repository/build/gpu/bin
with_libraries=(env "LD_LIBRARY_PATH=$libraries")
roofcast=("${with_libraries[@]}" "$bin/roofcast")

{ timeout -k 5 20 nvidia-smi; echo "libraries: $libraries"; } >"$logs/nvidia-smi.log" 2>&1 || true

# ---- the parts, the most wanted first

# One process a family: a kernel that reads where nothing is ends the CUDA of its process for good.
kernels() { # NAME SECONDS FILTER
  part "kernels-$1" "$2" "${with_libraries[@]}" "$bin/kernel_cuda_tests" --gtest_brief=1 \
    --gtest_output="json:$logs/kernels-$1.json" --gtest_filter="$3"
}
attention='*PrefillCuda*:*DecodeCuda*:*LatentCuda*:AttentionCuda*'
products='*GroupedGemmCuda*:*DenseGemmCuda*:*Int4GemmCuda*'
cublaslt='*CublasLt*:*IntegerResult*'
cudnn='*Cudnn*'
nccl='*Nccl*:*OneRank*'
devices='*CudaBackend*:*NoCudaDevice*'
# Together short enough to leave the calibration its five minutes.
kernels attention 45 "$attention"
kernels products 30 "$products"
kernels tokens 30 "-$attention:$products:$cublaslt:$cudnn:$nccl:$devices"
kernels cublaslt 40 "$cublaslt"
kernels devices 40 "$devices"
part engine 30 "${with_libraries[@]}" "$bin/runtime_cuda_tests" --gtest_brief=1

profile=$out/profile.json
calibrate() { # NAME SECONDS OPTIONS...
  local name=$1 most=$2
  shift 2
  part "$name" "$most" "${roofcast[@]}" calibrate --device cuda --model llama-3.1-8b \
    --out "$profile" --store "$out/runs.db" "$@"
}
# The coarse one where the fine one breaks off: the runs below need a profile to be put beside.
calibrate calibrate 330 --full || [ -s "$profile" ] || calibrate calibrate-quick 40 --quick
beside=()
[ -s "$profile" ] && beside=(--gpu "$profile")

measure() { # NAME MODEL OPTIONS...: one run beside its estimate
  local name=$1 model=$2
  shift 2
  part "measure-$name" 60 "${roofcast[@]}" measure --model "$model" --device cuda \
    "${beside[@]}" --store "$out/runs.db" -o json "$@"
}
measure llama-decode llama-3.1-8b --batch 32 --isl 1024 --osl 64
measure llama-long llama-3.1-8b --batch 1 --isl 8192 --osl 32
measure qwen qwen2.5-7b --batch 128 --isl 512 --osl 32
measure llama2 llama-2-7b --dtype bf16 --batch 8 --isl 2048 --osl 32
measure staircase gpt2 --naive --isl 16 --osl 40
measure serving llama-3.1-8b --num-prompts 64 --request-rate 8 --isl 512 --osl 64

kernels cudnn 60 "$cudnn"
kernels nccl 40 "$nccl"
if timeout -k 5 "$(left 30)" python3 -c 'import torch; assert torch.cuda.is_available()' \
  2>/dev/null; then
  part torch 60 python3 tests/gpu/torch_side.py "$out/torch.json"
fi

# ---- the table

{
  echo "GPU run of $(date -u +%Y-%m-%dT%H:%M:%SZ)"
  grep -m 1 -E 'NVIDIA [A-Z]' "$logs/nvidia-smi.log" || true
  "${roofcast[@]}" gpus "$profile" 2>/dev/null || echo "no profile"
  for log in "$logs"/measure-*.log; do
    python3 tests/gpu/summarise.py "$log" 2>/dev/null || echo "$(basename "$log" .log): no result"
  done
  grep -E '^\[  (PASSED|FAILED|SKIPPED)' "$logs"/kernels-*.log "$logs/engine.log" |
    sed "s|^$logs/||; s|\.log:|: |" || true
  if [ -e "$out/torch.json" ]; then
    python3 tests/gpu/summarise.py --torch "$out/torch.json" "$profile" 2>&1
  fi
  if [ ${#failed[@]} -gt 0 ]; then printf 'FAILED: %s\n' "${failed[*]}"; fi
} | tee "$out/report.txt"
keep_logs
rm -rf "$logs"
find "$out" -name runs.db -size +15M -exec gzip -f {} +  # easier to carry
say "done"
[ ${#failed[@]} -eq 0 ]
