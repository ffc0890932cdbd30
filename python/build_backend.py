"""PEP 517 build of the wheel: configures and builds the CMake preset `wheel`, then packs it. Needs
nothing that Debian has not (README.md, ./bootstrap), and no network except for npm's charts, which
-DROOFCAST_CHARTS=OFF leaves out. ROOFCAST_PYTHON_BUILD names a folder that is built already."""

import os
import subprocess
from pathlib import Path

from make_wheel import make_wheel

ROOT = Path(__file__).resolve().parent.parent


def _built():
    given = os.environ.get("ROOFCAST_PYTHON_BUILD")
    if given:
        return Path(given)
    subprocess.run(["cmake", "--preset", "wheel"], cwd=ROOT, check=True)
    subprocess.run(["cmake", "--build", "--preset", "wheel"], cwd=ROOT, check=True)
    return ROOT / "build" / "wheel"


def get_requires_for_build_wheel(config_settings=None):
    return []


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    return make_wheel(_built(), Path(wheel_directory)).name


def build_sdist(sdist_directory, config_settings=None):
    raise NotImplementedError("there is no source distribution: build the wheel from the repository")
