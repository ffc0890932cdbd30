"""What a million simulated requests cost through Python, over the program: processor time, the least of
several rounds in turn, because other work on the machine only adds to it. A benchmark, not a test.

    PYTHONPATH=build/release/python ROOFCAST=build/release/bin/roofcast python3 tests/python/overhead_benchmark.py
"""

import os
import resource
import subprocess

import roofcast

ROUNDS = 3
LOAD = {"model": "llama-3.1-8b", "gpu": "h100", "num_prompts": 1_000_000, "request_rate": 20,
        "input_len": 300, "output_len": 50}


def used(who):
    usage = resource.getrusage(who)
    return usage.ru_utime + usage.ru_stime


def of_program():
    words = [f"--{key.replace('_', '-')}={value}" for key, value in LOAD.items()]
    before = used(resource.RUSAGE_CHILDREN)
    subprocess.run([os.environ["ROOFCAST"], "simulate", *words, "--no-store", "--no-intervals", "-o", "json"],
                   check=True, stdout=subprocess.DEVNULL)
    return used(resource.RUSAGE_CHILDREN) - before


def of_python():
    before = used(resource.RUSAGE_SELF)
    roofcast.simulate(**LOAD, progress=lambda done, total: None)
    return used(resource.RUSAGE_SELF) - before


rounds = [(of_program(), of_python()) for _ in range(ROUNDS)]
program, python = (min(times) for times in zip(*rounds))
print(f"program {program:.2f} s, Python {python:.2f} s: {100 * (python / program - 1):+.1f} %")
