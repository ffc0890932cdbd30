"""Progress of a question: tqdm where it is installed, a function of the caller's, or none."""

import importlib.util
import sys
import time


class _Silent:
    update = None

    @staticmethod
    def tell(line):
        print(line, file=sys.stderr)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return False


class _Called(_Silent):
    def __init__(self, update):
        self.update = update


# Nobody needs a bar for less.
_DELAY_S = 2


class _Bar(_Silent):
    """Drawn only after a while, so that short questions draw none. `leaves`: whether the finished
    bar stays, as where taking it away would leave an empty box."""

    def __init__(self, name, tqdm, leaves):
        self._name, self._tqdm, self._leaves, self._bar = name, tqdm, leaves, None
        self._begun = time.monotonic()

    def update(self, done, total):
        if self._bar is None:
            # tqdm's own delay begins again with every reset().
            if time.monotonic() - self._begun < _DELAY_S:
                return
            self._bar = self._tqdm(total=total, desc=self._name, leave=self._leaves)
        if total != self._bar.total:
            self._bar.reset(total=total)
        self._bar.update(done - self._bar.n)

    def __exit__(self, kind, *_):
        if self._bar is not None:
            # The last stage of an answer may report its end no more: a bar that stays says so.
            if kind is None and self._leaves:
                self._bar.update(self._bar.total - self._bar.n)
            self._bar.close()
        return False


def progress_of(name, given):
    """`given`: None (tqdm where it is installed and someone watches), True (tqdm), False, or a
    function of (done, total)."""
    if callable(given):
        return _Called(given)
    notebook = "ipykernel" in sys.modules
    watched = sys.stderr is not None and hasattr(sys.stderr, "isatty") and sys.stderr.isatty()
    if given is False or (given is None and not (watched or notebook)):
        return _Silent()
    try:
        # tqdm.auto warns in notebooks without widgets, in red above the answer.
        plain = importlib.util.find_spec("ipywidgets") is None
        if plain:
            from tqdm import tqdm
        else:
            from tqdm.auto import tqdm
    except ImportError:
        return _Silent()
    # Widgets go without a trace; text that is taken away leaves its box.
    return _Bar(name, tqdm, leaves=notebook and plain)
