"""The container's size (deploy/Dockerfile) without a container: Debian's slim image as published, the packages
that the program's libraries add to it, and the program.

    tests/deploy/container_size.py PROGRAM [LIMIT_MB]

Sizes are Debian's own (Installed-Size, manuals included); what is added is what apt would install beside an empty
system's essential packages. Exit code 77 where this is not a Debian machine with package lists.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SKIPPED = 77
LIMIT_MB = 150
# debian:bookworm-slim of 18 September 2026 for amd64, on disk: github.com/docker-library/repo-info,
# repos/debian/local/bookworm-slim.md.
SLIM_MB = 74.83
ESSENTIAL = ["?essential", "apt"]


def output_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def installed_with(names, work):
    """What apt would install for these packages on an empty system."""
    nothing = work / "status"
    nothing.touch()
    said = output_of("apt-get", "--simulate", "--no-install-recommends", "-o", f"Dir::State::status={nothing}", "-o",
                     f"Dir::State::extended_states={work}/extended", "-o", "Debug::NoLocking=1", "install", *names)
    return set(re.findall(r"^Inst (\S+)", said, re.MULTILINE))


def needed_by(program):
    """Packages of the libraries that a program or module is linked with."""
    libraries = re.findall(r"NEEDED\s+(\S+)", output_of("objdump", "-p", program))
    return {output_of("dpkg", "-S", f"*-linux-gnu/{library}").split(":")[0] for library in libraries}


def megabytes(names):
    listed = output_of("apt-cache", "show", "--no-all-versions", *sorted(names)) if names else ""
    return sum(int(kib) for kib in re.findall(r"^Installed-Size: (\d+)", listed, re.MULTILINE)) * 1024 / 1e6


program = sys.argv[1]
# What `roofcast serve` opens: it has libraries of its own.
module = Path(program).resolve().parents[1] / "lib" / "roofcast" / "serve.so"
parts = [program, *([module] if module.exists() else [])]
limit = float(sys.argv[2]) if len(sys.argv) > 2 else LIMIT_MB
if not all(map(shutil.which, ("apt-get", "apt-cache", "dpkg", "objdump", "strip"))):
    print("skipped: needs Debian's apt, dpkg and binutils")
    sys.exit(SKIPPED)
with tempfile.TemporaryDirectory() as folder:
    work = Path(folder)
    try:
        base = installed_with(ESSENTIAL, work)
        needed = set().union(*map(needed_by, parts))
        added = installed_with([*ESSENTIAL, *needed], work) - base
    except subprocess.CalledProcessError as error:
        print(f"skipped: {error.stderr.strip().splitlines()[-1] if error.stderr else error} (apt-get update)")
        sys.exit(SKIPPED)
    own = 0.0
    for part in parts:
        subprocess.run(["strip", "-o", work / "stripped", part], check=True)
        own += (work / "stripped").stat().st_size / 1e6
total = SLIM_MB + megabytes(added) + own
print(f"Debian slim {SLIM_MB} MB, libraries {megabytes(added):.1f} MB ({', '.join(sorted(added))}), "
      f"program {own:.1f} MB: {total:.1f} MB")
if total > limit:
    sys.exit(f"more than {limit:g} MB")
