"""What a million simulated requests cost through Python beside the program: both from the start of a
process to the printed answer, in turns, so that other work on the machine meets both. The least of
each counts, since other work only adds, also to processor time: caches and cores are shared. A
benchmark, not a test.

    PYTHONPATH=build/release/python ROOFCAST=build/release/bin/roofcast python3 tests/python/overhead.py [PAIRS]
"""

import os
import resource
import subprocess
import sys
import time

REQUESTS = 1_000_000
LOAD = {"model": "llama-3.1-8b", "gpu": "h100", "request_rate": 20, "num_prompts": REQUESTS, "input_len": 500,
        "output_len": 100}
FLAGS = [word for key, value in LOAD.items() for word in ("--" + key.replace("_", "-"), str(value))]
PROGRAM = [os.environ["ROOFCAST"], "simulate", *FLAGS, "--no-intervals", "--no-store", "-o", "json"]
PYTHON = [sys.executable, "-c", f"import roofcast; print(roofcast.simulate(**{LOAD}, intervals=False).to_dict())"]


def cost(command):
    """Processor and wall-clock seconds."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    wall, after = time.monotonic() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall


pairs = [(cost(PROGRAM), cost(PYTHON)) for _ in range(int(sys.argv[1]) if len(sys.argv) > 1 else 5)]
for place, name in enumerate(("processor time", "wall clock")):
    program = min(pair[0][place] for pair in pairs)
    python = min(pair[1][place] for pair in pairs)
    print(f"{name}: program {program:.2f} s, Python {python:.2f} s for {REQUESTS:,} requests: "
          f"{100 * (python / program - 1):+.1f} %")
