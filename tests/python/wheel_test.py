"""Packs the build as a wheel, installs it offline into a folder of its own, and asks it.

    python3 tests/python/wheel_test.py BUILD_FOLDER      Exit code 77: not run, with the reason.
"""

import base64
import csv
import hashlib
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


def cached(name):
    lines = (BUILD / "CMakeCache.txt").read_text().splitlines()
    return next((line.split("=", 1)[1] for line in lines if line.startswith(f"{name}:")), "")


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
if any(cached(option) != "OFF" for option in ("ROOFCAST_MPI", "ROOFCAST_ONEDNN", "ROOFCAST_PNG")):
    skip("this build links what a wheel leaves out (preset wheel builds without)")

with tempfile.TemporaryDirectory() as folder:
    subprocess.run([sys.executable, str(ROOT / "python/make_wheel.py"), str(BUILD), folder], check=True)
    wheel = next(Path(folder).glob("*.whl"))
    check_contents(wheel)
    target = Path(folder) / "installed"
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps",
                    "--target", str(target), str(wheel)], check=True)
    code = ("import roofcast\n"
            "print(roofcast.__file__)\n"
            "print(roofcast.memory('llama-3.1-70b', gpu='h200', tp=2, max_model_len='16k').kv_tokens)")
    asked = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True,
                           cwd=folder, env={**os.environ, "PYTHONPATH": str(target)}).stdout.split()
    program = subprocess.run([os.environ["ROOFCAST"], "memory", "--model", "llama-3.1-70b", "--gpu",
                              "h200", "--tp", "2", "--max-model-len", "16k", "-o", "json"],
                             check=True, capture_output=True, text=True).stdout
    if not asked[0].startswith(str(target)) or f'"kv_tokens": {asked[1]},' not in program:
        sys.exit(f"{asked}: expected the installed package and the program's answer")
    print(f"{wheel.name}: {wheel.stat().st_size / 2**20:.1f} MiB")
