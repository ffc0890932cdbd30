"""Packs build/PRESET/python as a wheel with the shared libraries that it needs.

    python3 python/make_wheel.py BUILD_FOLDER OUT_FOLDER

Only libraries of the manylinux policy (PEP 600) are left to the system: glibc, libstdc++ and libgcc.
All others go into roofcast/libs with their licences. The platform tag is that of the newest glibc
symbol that any of the files asks for, and the build fails for a libstdc++ newer than the policies of
that age have. libstdc++ is not linked statically: exceptions cross from bundled libraries into ours,
so that both must have one.
"""

import base64
import hashlib
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from pathlib import Path

SYSTEM = re.compile(r"^(linux-vdso|ld-linux|libc|libm|libdl|librt|libpthread|libutil|libstdc\+\+|libgcc_s)[.-]")
LARGEST = 30 * 2**20  # bytes of the wheel

METADATA = """Metadata-Version: 2.1
Name: roofcast
Version: {version}
Summary: What fits on a GPU, what a token costs, whether a load meets its SLO, what to buy
License: Apache-2.0
Requires-Python: =={major}.{minor}.*
Provides-Extra: pandas
Requires-Dist: pandas; extra == 'pandas'
Description-Content-Type: text/markdown

"""


def output_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def needed_libraries(module):
    """Paths of all libraries that are not the system's, by their names in the file."""
    found = {}
    for line in output_of("ldd", str(module)).splitlines():
        match = re.match(r"\s*(\S+) => (\S+)", line)
        if match is None or SYSTEM.match(match[1]):
            continue
        if not match[2].startswith("/"):
            raise SystemExit(f"make_wheel: {match[1]} is missing")
        found[match[1]] = Path(match[2])
    return found


def newest(files, prefix):
    """The newest version of symbols named PREFIX_x.y that the files ask for, as numbers."""
    versions = set()
    for file in files:
        versions.update(re.findall(rf"\b{prefix}_(\d+(?:\.\d+)+)", output_of("readelf", "-V", str(file))))
    return max((tuple(map(int, version.split("."))) for version in versions), default=(2, 17))


def licence_of(library):
    """What Debian says on the copyright of the package that has the library."""
    owner = subprocess.run(["dpkg-query", "-S", str(library.resolve())], capture_output=True, text=True)
    if owner.returncode != 0:
        other = str(library.resolve()).removeprefix("/usr")
        owner = subprocess.run(["dpkg-query", "-S", other], capture_output=True, text=True)
    if owner.returncode != 0:
        raise SystemExit(f"make_wheel: no package has {library}: its licence is not known")
    package = owner.stdout.split(":")[0]
    return package, Path(f"/usr/share/doc/{package}/copyright")


def record_line(name, data):
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(data)}"


def stage(build, folder):
    """Copies package, libraries and licences to `folder`; returns all ELF files."""
    package = folder / "roofcast"
    shutil.copytree(build / "python" / "roofcast", package, ignore=shutil.ignore_patterns("__pycache__"))
    module = package / "_native.so"
    subprocess.run(["strip", "--strip-unneeded", str(module)], check=True)
    licences = folder / "licenses"
    licences.mkdir()
    libraries = needed_libraries(module)
    (package / "libs").mkdir()
    for name, path in libraries.items():
        shutil.copyfile(path.resolve(), package / "libs" / name)
        subprocess.run(["strip", "--strip-unneeded", str(package / "libs" / name)], check=True)
        owner, text = licence_of(path)
        if text.exists():
            shutil.copyfile(text, licences / f"{owner}.txt")
    # Headers that are compiled in: the BSD licence asks for its text beside the binary.
    pybind11 = Path("/usr/share/doc/pybind11-dev/copyright")
    if not pybind11.exists():
        raise SystemExit("make_wheel: pybind11's licence is not in /usr/share/doc/pybind11-dev: install pybind11-dev")
    shutil.copyfile(pybind11, licences / "pybind11-dev.txt")
    root = Path(__file__).resolve().parent.parent
    shutil.copyfile(root / "LICENSE", licences / "LICENSE")
    shutil.copyfile(root / "cmake" / "package" / "copyright", licences / "embedded.txt")
    return [module, *(package / "libs").iterdir()]


def check_python(build):
    """The tag is of the Python that runs this: pybind11 refuses a module that was built for another."""
    asked = subprocess.run([sys.executable, "-c", "import roofcast._native"], capture_output=True, text=True,
                           cwd=build,  # pip runs this in python/, whose sources have no module
                           env={**os.environ, "PYTHONPATH": str(build / "python"), "PYTHONDONTWRITEBYTECODE": "1"})
    if asked.returncode != 0:
        why = (asked.stderr.strip().splitlines() or ["no message"])[-1]
        raise SystemExit(f"make_wheel: {sys.executable} cannot import the module of {build}: {why}")


def make_wheel(build, out):
    build = build.resolve()
    check_python(build)
    version = re.search(r'"(\d[^"]*)"', (build / "generated/base/version.hpp").read_text())[1]
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        files = stage(build, folder)
        glibc = newest(files, "GLIBC")
        if newest(files, "GLIBCXX") > (3, 4, 30):
            raise SystemExit("make_wheel: a libstdc++ newer than GCC 12's is needed")
        python = f"cp{sys.version_info.major}{sys.version_info.minor}"
        machine = sysconfig.get_platform().removeprefix("linux-").replace("-", "_")
        tag = f"{python}-{python}-manylinux_{glibc[0]}_{glibc[1]}_{machine}"
        information = f"roofcast-{version}.dist-info"
        contents = {}
        for path in sorted((folder / "roofcast").rglob("*")):
            if path.is_file():
                contents[str(path.relative_to(folder))] = path.read_bytes()
        for path in sorted((folder / "licenses").iterdir()):
            contents[f"{information}/licenses/{path.name}"] = path.read_bytes()
        readme = (Path(__file__).resolve().parent / "README.md").read_text(encoding="utf-8")
        metadata = METADATA.format(version=version, major=sys.version_info.major,
                                   minor=sys.version_info.minor)
        contents[f"{information}/METADATA"] = (metadata + readme).encode()
        contents[f"{information}/WHEEL"] = (
            f"Wheel-Version: 1.0\nGenerator: roofcast\nRoot-Is-Purelib: false\nTag: {tag}\n").encode()
        contents[f"{information}/entry_points.txt"] = (
            b"[console_scripts]\nroofcast = roofcast.__main__:main\n")
        record = [record_line(name, data) for name, data in contents.items()]
        contents[f"{information}/RECORD"] = (
            "\n".join([*record, f"{information}/RECORD,,"]) + "\n").encode()
        out.mkdir(parents=True, exist_ok=True)
        wheel = out / f"roofcast-{version}-{tag}.whl"
        with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
            for name, data in contents.items():
                entry = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))  # same bytes every time
                entry.external_attr = (0o755 if name.endswith(".so") else 0o644) << 16
                archive.writestr(entry, data, zipfile.ZIP_DEFLATED, 9)
    size = os.path.getsize(wheel)
    if size > LARGEST:
        raise SystemExit(f"make_wheel: {wheel.name} has {size / 2**20:.1f} MiB, expected at most 30")
    return wheel


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit("usage: make_wheel.py BUILD_FOLDER OUT_FOLDER")
    made = make_wheel(Path(sys.argv[1]), Path(sys.argv[2]))
    print(f"{made}: {os.path.getsize(made) / 2**20:.1f} MiB")
