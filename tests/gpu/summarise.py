"""One line per result of tests/gpu/run.sh.

Usage: summarise.py MEASURE.log          a `roofcast measure -o json` document with other lines
       summarise.py --torch TORCH.json PROFILE.json
"""
import json
import sys


def measured(path):
    text = open(path, encoding="utf-8").read()
    document = json.loads(text[text.index("{") : text.rindex("}") + 1])
    inputs = document["inputs"]
    line = f"{inputs['model']} on {inputs['device']}: {document['requests_completed']} requests"
    textbook = document.get("textbook")
    if textbook:
        line += (
            f", prefill {1e3 * textbook['prefill_s']:.2f} ms"
            f", decode {1e3 * textbook['decode_step_s']:.3f} ms"
            f" ({100 * textbook['decode_efficiency']:.0f} % of copy bandwidth)"
        )
    for name, errors in document.get("prediction", {}).items():
        if errors["steps"]:
            line += (
                f"; {name}: median error {100 * errors['median_error']:.1f} %"
                f", p95 {100 * errors['p95_error']:.1f} %, bias {100 * errors['bias']:+.1f} %"
            )
    print(line)


def curves(profile, family):
    """Points of a product are [m, seconds, ...], of prefill [chunk, prefix, seconds, ...]."""
    for curve in profile.get("measured", {}).get("curves", []):
        if curve.get("family") == family:
            yield curve


def fastest(times):
    """Of the kernels that were timed; None where none was."""
    return min((t for t in times if t is not None), default=None)


def time_at(curve, *place):
    return next((p[len(place)] for p in curve["points"] if tuple(p[: len(place)]) == place), None)


def profile_of(path):
    try:
        return json.load(open(path, encoding="utf-8"))
    except (OSError, ValueError):
        print("no profile to put it beside")
        return {}


def beside_torch(torch_path, profile_path):
    torch = json.load(open(torch_path, encoding="utf-8"))
    profile = profile_of(profile_path)
    print(f"PyTorch {torch['torch']} on {torch['gpu']}: seconds there over seconds here")
    for row in torch["rows"]:
        here = None
        if row["what"] == "gemm bf16":
            shape = ("bf16", row["n"], row["k"])
            here = fastest(
                time_at(c, row["m"])
                for c in curves(profile, "gemm")
                if (c.get("format"), c.get("outputs"), c.get("inputs")) == shape
            )
        if row["what"].startswith("prefill"):
            shape = ("bf16", 32, 8, 128)
            here = fastest(
                time_at(c, row["m"], 0)
                for c in curves(profile, "prefill_attention")
                if (c.get("cache"), c.get("query_heads"), c.get("kv_heads"), c.get("head_dim"))
                == shape
            )
        ratio = f"{row['seconds'] / here:.2f}x" if here else "not timed here"
        label = " ".join(str(row[key]) for key in ("what", "n", "k", "m", "backend") if key in row)
        print(f"  {label}: {1e6 * row['seconds']:.1f} us, {ratio}")


if __name__ == "__main__":
    if sys.argv[1] == "--torch":
        beside_torch(sys.argv[2], sys.argv[3])
    else:
        measured(sys.argv[1])
