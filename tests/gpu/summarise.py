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


def beside_torch(torch_path, profile_path):
    torch = json.load(open(torch_path, encoding="utf-8"))
    profile = json.load(open(profile_path, encoding="utf-8"))
    print(f"PyTorch {torch['torch']} on {torch['gpu']}: seconds there over seconds here")
    for row in torch["rows"]:
        here = None
        if row["what"] == "gemm bf16":
            for curve in curves(profile, "gemm"):
                if (curve.get("outputs"), curve.get("inputs")) != (row["n"], row["k"]):
                    continue
                if curve.get("format") == "bf16":
                    here = next((p[1] for p in curve["points"] if p[0] == row["m"]), None)
        if row["what"].startswith("prefill"):
            for curve in curves(profile, "prefill_attention"):
                sizes = (curve.get("query_heads"), curve.get("kv_heads"), curve.get("head_dim"))
                if sizes == (32, 8, 128):
                    here = next(
                        (p[2] for p in curve["points"] if p[0] == row["m"] and p[1] == 0), None
                    )
        ratio = f"{row['seconds'] / here:.2f}x" if here else "not timed here"
        label = " ".join(str(row[key]) for key in ("what", "n", "k", "m", "backend") if key in row)
        print(f"  {label}: {1e6 * row['seconds']:.1f} us, {ratio}")


if __name__ == "__main__":
    if sys.argv[1] == "--torch":
        beside_torch(sys.argv[2], sys.argv[3])
    else:
        measured(sys.argv[1])
