"""The same shapes in PyTorch: matrix products, attention backends, memory-bound operators.

Usage: torch_side.py OUT.json. Times are medians over CUDA graph replays with operands rotated
through more memory than the L2 cache holds, as roofcast calibrate measures.
"""
import json
import statistics
import sys

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

COLD_BYTES = 256 << 20  # several times the L2 cache of any GPU of today
SAMPLES = 15
SAMPLE_SECONDS = 2e-3
BACKENDS = {
    "flash": SDPBackend.FLASH_ATTENTION,
    "cudnn": SDPBackend.CUDNN_ATTENTION,
    "efficient": SDPBackend.EFFICIENT_ATTENTION,
}


def median_seconds(calls):
    """Median time of one of `calls`, all of which are captured in one graph."""
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for call in calls[:3]:
            call()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for call in calls:
            call()
    samples = []
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    for sample in range(SAMPLES + 3):
        begin.record()
        graph.replay()
        end.record()
        end.synchronize()
        if sample >= 3:
            samples.append(begin.elapsed_time(end) * 1e-3 / len(calls))
    return statistics.median(samples)


def copies(bytes_each):
    return max(2, min(64, -(-COLD_BYTES // max(1, bytes_each))))


def matmul(m, n, k, dtype=torch.bfloat16):
    x = torch.randn(m, k, device="cuda", dtype=dtype)
    weights = [torch.randn(n, k, device="cuda", dtype=dtype) for _ in range(copies(2 * n * k))]
    return median_seconds([lambda w=w: torch.matmul(x, w.t()) for w in weights])


def prefill(heads, kv_heads, head_dim, length, backend):
    def tensor(h):
        return torch.randn(1, h, length, head_dim, device="cuda", dtype=torch.bfloat16)

    operands = [(tensor(heads), tensor(kv_heads), tensor(kv_heads)) for _ in range(2)]
    with sdpa_kernel(backend):
        return median_seconds(
            [
                lambda o=o: scaled_dot_product_attention(*o, is_causal=True, enable_gqa=True)
                for o in operands
            ]
        )


def rms_norm(rows, hidden):
    weight = torch.randn(hidden, device="cuda", dtype=torch.bfloat16)
    count = copies(4 * rows * hidden)
    inputs = [torch.randn(rows, hidden, device="cuda", dtype=torch.bfloat16) for _ in range(count)]
    return median_seconds(
        [lambda x=x: torch.nn.functional.rms_norm(x, (hidden,), weight) for x in inputs]
    )


def copy(bytes_each):
    sources = [torch.empty(bytes_each, device="cuda", dtype=torch.uint8).random_() for _ in range(2)]
    target = torch.empty_like(sources[0])
    return median_seconds([lambda s=s: target.copy_(s) for s in sources])


def main(path):
    rows = []
    # Llama 3.1 8B's four products, and one shape of the calibration's own grid.
    for n, k in [(6144, 4096), (4096, 4096), (28672, 4096), (4096, 14336), (12288, 12288)]:
        for m in (1, 16, 64, 128, 256, 512, 1024, 4096, 16384):
            rows.append({"what": "gemm bf16", "n": n, "k": k, "m": m, "seconds": matmul(m, n, k)})
    for length in (512, 1024, 2048, 4096, 8192, 16384):
        for name, backend in BACKENDS.items():
            try:
                seconds = prefill(32, 8, 128, length, backend)
            except RuntimeError as error:
                print(f"prefill {name} {length}: {str(error).splitlines()[0]}")
                continue
            rows.append(
                {"what": "prefill bf16 32/8x128", "backend": name, "m": length, "seconds": seconds}
            )
    for m in (2048, 8192, 16384):
        rows.append({"what": "rms_norm bf16", "n": 4096, "m": m, "seconds": rms_norm(m, 4096)})
    rows.append({"what": "copy", "m": 1 << 30, "seconds": copy(1 << 30)})
    with open(path, "w", encoding="utf-8") as out:
        json.dump({"torch": torch.__version__, "gpu": torch.cuda.get_device_name(), "rows": rows}, out)
    print(f"{len(rows)} timings")


if __name__ == "__main__":
    main(sys.argv[1])
