"""Packs the build as a wheel, installs it offline into a fresh environment, and asks it the demo's questions.

    python3 tests/python/wheel_test.py BUILD_FOLDER      Exit code 77: not run, with the reason.
"""

import base64
import csv
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

BUILD = Path(sys.argv[1]).resolve()
ROOT = Path(__file__).resolve().parents[2]


def skip(reason):
    print(f"python: Skipped\n{reason}")
    sys.exit(77)


def check_contents(wheel):
    """RECORD lists each file once with its digest and length; pybind11's licence is there."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        information = next(name for name in names if name.endswith(".dist-info/RECORD"))
        rows = list(csv.reader(archive.read(information).decode().splitlines()))
        if sorted(names) != sorted(row[0] for row in rows) or len(set(names)) != len(names):
            sys.exit(f"{wheel.name}: RECORD does not list the files of the wheel")
        for name, digest, length in rows:
            if name == information:
                continue
            data = archive.read(name)
            expected = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            if digest != f"sha256={expected}" or int(length) != len(data):
                sys.exit(f"{wheel.name}: RECORD is wrong for {name}")
        if not any(name.endswith("licenses/pybind11-dev.txt") for name in names):
            sys.exit(f"{wheel.name}: pybind11's licence is missing")


if subprocess.run([sys.executable, "-m", "pip", "--version"], capture_output=True).returncode != 0:
    skip("pip is not installed")
for tool in ("strip", "readelf", "ldd", "dpkg-query"):
    if shutil.which(tool) is None:
        skip(f"{tool} is not installed")


def program(folder, *arguments):
    """The program's JSON; a no (exit code 3) is an answer too."""
    done = subprocess.run([os.environ["ROOFCAST"], *arguments, "-o", "json"], capture_output=True, text=True,
                          cwd=folder)
    if done.returncode not in (0, 3):
        sys.exit(done.stderr)
    return json.loads(done.stdout)


with tempfile.TemporaryDirectory() as folder:
    subprocess.run([sys.executable, str(ROOT / "python/make_wheel.py"), str(BUILD), folder], check=True)
    wheel = next(Path(folder).glob("*.whl"))
    check_contents(wheel)
    environment = Path(folder) / "environment"
    python = environment / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True)
    subprocess.run([sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-index",
                    str(wheel)], check=True)
    # Nothing of this build or of the system's Python reaches the environment.
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}

    def run(*command):
        return subprocess.run([str(python), *command], check=True, capture_output=True, text=True,
                              cwd=folder, env=clean).stdout

    linked = subprocess.run(["ldd", run("-c", "import roofcast; print(roofcast._native.__file__)").strip()],
                            check=True, capture_output=True, text=True).stdout
    for library in ("libmpi", "libdnnl", "not found"):
        if library in linked:
            sys.exit(f"{wheel.name}: the module needs {library}:\n{linked}")

    # The demo of ./bootstrap: the trace by the program in the wheel, the rest by four lines of Python.
    run("-m", "roofcast", "trace", "--out", "trace.csv", "--num-prompts", "600", "--request-rate", "4",
        "--input-len", "lognormal:800:0.9", "--output-len", "lognormal:200:0.7", "--seed", "1")
    asked = json.loads(run("-c", """
import json, roofcast
load = dict(model="llama-3.1-70b", gpu="h200", max_model_len="16k")
slo = dict(trace="trace.csv", slo=["p95:ttft:1s", "p95:tpot:50ms"])
answers = [roofcast.memory(tp=2, **load), *(roofcast.simulate(tp=tp, **load, **slo) for tp in (2, 4))]
print(json.dumps([answer.to_dict() for answer in answers]))
"""))
    load = ["--model", "llama-3.1-70b", "--gpu", "h200", "--max-model-len", "16k"]
    slo = ["--trace", "trace.csv", "--slo", "p95:ttft:1s", "p95:tpot:50ms", "--no-store"]
    expected = [program(folder, "memory", *load, "--tp", "2"),
                *(program(folder, "simulate", *load, "--tp", tp, *slo) for tp in ("2", "4"))]
    for name, one, other in zip(("memory", "simulate on 2", "simulate on 4"), asked, expected):
        if one != other:
            sys.exit(f"{name}: {one}\nexpected the program's answer: {other}")
    command = subprocess.run([str(environment / "bin" / "roofcast"), "--version"], check=True,
                             capture_output=True, text=True, env=clean).stdout
    if run("-m", "roofcast", "--version") != command:
        sys.exit("python -m roofcast and the command roofcast are not the same")
    print(f"{wheel.name}: {wheel.stat().st_size / 2**20:.1f} MiB")
