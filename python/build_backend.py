"""PEP 517 build of the wheel: builds the package in build/release, configured first where it is not yet,
then packs it. Needs nothing that Debian does not have (./bootstrap), and no network except for npm's charts, once.
ROOFCAST_PYTHON_BUILD names a folder that is built already."""

import os
import subprocess
from pathlib import Path

from make_wheel import make_wheel

ROOT = Path(__file__).resolve().parent.parent


def _built():
    given = os.environ.get("ROOFCAST_PYTHON_BUILD")
    if given:
        return Path(given)
    build = ROOT / "build" / "release"
    if not (build / "build.ninja").exists():
        subprocess.run(["cmake", "--preset", "release"], cwd=ROOT, check=True)
    if "ROOFCAST_PYTHON:BOOL=OFF" in (build / "CMakeCache.txt").read_text():
        raise SystemExit(f"{build}: is configured without the Python package, expected ROOFCAST_PYTHON=ON: "
                         "cmake --preset release -DROOFCAST_PYTHON=ON")
    subprocess.run(["cmake", "--build", "--preset", "release", "--target", "roofcast_python_package"],
                   cwd=ROOT, check=True)
    return build


def get_requires_for_build_wheel(config_settings=None):
    return []


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    return make_wheel(_built(), Path(wheel_directory)).name


def build_sdist(sdist_directory, config_settings=None):
    raise NotImplementedError("there is no source distribution: build the wheel from the repository")
