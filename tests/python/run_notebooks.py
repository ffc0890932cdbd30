"""Runs the notebooks of examples/notebooks with a Jupyter kernel and looks at what they show. Exit code
77: not run, with the reason."""

import importlib.util
import sys
from pathlib import Path


def skip(reason):
    print(f"python: Skipped\n{reason}")
    sys.exit(77)


for needed in ("nbformat", "nbconvert", "ipykernel", "pandas"):
    if importlib.util.find_spec(needed) is None:
        skip(f"{needed} is not installed")

import nbformat  # noqa: E402
from nbconvert.preprocessors import ExecutePreprocessor  # noqa: E402

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "notebooks"


def shown(notebook):
    """All outputs as (kind, text)."""
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            for kind, text in output.get("data", {}).items():
                yield kind, text if isinstance(text, str) else "".join(text)


notebooks = sorted(FOLDER.glob("*.ipynb"))
if len(notebooks) < 2:
    sys.exit(f"{FOLDER}: expected two notebooks")
for path in notebooks:
    notebook = nbformat.read(path, as_version=4)
    if any(cell.get("outputs") for cell in notebook.cells):
        sys.exit(f"{path}: has outputs; they are made by running it")
    ExecutePreprocessor(timeout=300, kernel_name="python3").preprocess(notebook, {"metadata": {"path": str(FOLDER)}})
    warned = [output["text"] for cell in notebook.cells for output in cell.get("outputs", [])
              if output.get("name") == "stderr" and "Warning" in output["text"]]
    if warned:
        sys.exit(f"{path}: warns beside its answers: {warned[0]}")
    pages = [text for kind, text in shown(notebook) if kind == "text/html"]
    if not any("<table" in page for page in pages):
        sys.exit(f"{path}: shows no table")
    print(f"{path.name}: {len(pages)} pages, {sum('<svg' in page for page in pages)} with figures")
