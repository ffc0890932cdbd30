"""The program itself: `python -m roofcast simulate --model ...`, and the command `roofcast`."""

import signal
import sys

from . import _native


def main():
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # the program's own: it ends what runs
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # Python ignores it: `... | head` would not end
    sys.stdout.flush()
    return _native.main(["roofcast", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
