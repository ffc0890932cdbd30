#!/usr/bin/env bash
# A vLLM server as somebody starts it; `--from-cmd @serve.sh` reads the deployment from it.
vllm serve meta-llama/Llama-3.1-8B-Instruct \
    --max-model-len 16384 \
    --gpu-memory-utilization 0.92 \
    --max-num-seqs 128 \
    --enable-chunked-prefill
