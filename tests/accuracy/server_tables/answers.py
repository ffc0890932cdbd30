"""Manifests, the program's answers to them, and the figures by which a case is judged."""
import json
import math
import pathlib
import re
import shutil
import subprocess

HERE = pathlib.Path(__file__).resolve().parent.parent

# Sets to which nothing in the program is fitted but SGLang's time of a launch in prompts (DeepSeek-R1),
# the handover of servers apart and TensorRT-LLM's host work (32 saturated runs on one B200 and GB200).
BLIND = ["inferencex_deepseek_r1", "inferencex_deepseek_r1_mtp", "inferencex_deepseek_r1_atom",
         "inferencex_deepseek_r1_apart", "inferencemax_llama_70b",
         "vllm_gpt_oss_h200", "sglang_h100_closed_loop", "trtllm_llama_8b_closed_loop",
         "sglang_cookbook", "sglang_dstack_gpt_oss", "vllm_mi300x", "vllm_a100_l40s_open_loop",
         "vllm_kubecon_stages", "trtllm_1_other_gpus_max_throughput"]

# Further sets with alternatives.
CHOICES = ["vllm_closed_loop", "trtllm_closed_loop", "sglang_closed_loop",
           "trtllm_1_max_throughput", "trtllm_0_13_max_throughput"]

# The ledger of blind sets is also by these, for errors by version.
VERSION_KEYS = "engine_name,gpu,dtype,version"


def files_of(value):
    """Files that a manifest names: tables, results and traces."""
    if isinstance(value, list):
        for one in value:
            yield from files_of(one)
    elif isinstance(value, dict):
        for key, one in value.items():
            if key in ("file", "path") and isinstance(one, str):
                yield one
            elif key != "where":  # chooses rows, also by a column "file"
                yield from files_of(one)


def absent_data(manifest):
    """The first file that the manifest names and that is not there; None when all are."""
    for name in files_of(json.loads(manifest.read_text())):
        if "${" not in name and not (manifest.parent / name).exists():
            return name
    return None


def validated(program, manifest, answers=None):
    """The answer of `roofcast validate`; None, and why, when there is none. `answers`: a folder in
    which it is looked for first and then kept."""
    kept = answers / f"{manifest.stem}.json" if answers else None
    if kept and kept.exists():
        return json.loads(kept.read_text()), ""
    manifest = manifest.resolve()
    command = [shutil.which(program) or program, "validate", str(manifest)]
    command[0] = str(pathlib.Path(command[0]).resolve())
    script = manifest.with_suffix("")  # imports kernel tables first, where the manifest has one
    if script.exists():
        command = [str(script), command[0]]
    command += ["--by", VERSION_KEYS] if manifest.stem in BLIND else []
    command += ["--no-store", "-o", "json"]
    try:
        # Models in a manifest's scenarios may be folders relative to it.
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              cwd=manifest.parent)
    except OSError as error:
        return None, str(error)
    if done.returncode not in (0, 1, 3) or not done.stdout:
        return None, done.stderr.strip() or f"exit code {done.returncode}, no answer"
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        return None, "its answer is not JSON"
    if answer["answered"] == 0:
        return None, answer["cases"][0]["reason"] if answer["cases"] else "no cases"
    if kept:
        answers.mkdir(parents=True, exist_ok=True)
        kept.write_text(done.stdout)
    return answer, ""


def kept_answers(names, answers):
    """The answers to these manifests that are in the folder, by name."""
    found = {}
    for name in names:
        kept = answers / f"{name}.json" if answers else None
        if kept and kept.exists():
            found[name] = json.loads(kept.read_text())
    return found


def summed(errors, kind):
    """One figure of absolute errors: their largest ("each"), mean ("mape"), what nine of ten do not
    exceed ("p90") or their median."""
    ordered = sorted(errors)
    if kind == "each":
        return ordered[-1]
    if kind == "mape":
        return sum(ordered) / len(ordered)
    if kind == "p90":
        return ordered[math.ceil(0.9 * len(ordered)) - 1]
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def share(held):
    return f"{100 * sum(held) / len(held):.0f} %"


# What a case is judged by: the first of these that it has; "middle" is its mean, or its median where
# a label `judged_by` says p50.
COLUMNS = [[("tpot_s", "middle"), ("itl_s", "middle")], [("ttft_s", "middle")],
           [("e2e_s", "middle"), ("makespan_s", "value"), ("output_tokens_per_s", "value"),
            ("total_tokens_per_s", "value"), ("max_concurrency", "value")]]


def judged_figure(case, choices):
    """The first of these figures that the case has and that has an error; else None."""
    middle = case["labels"].get("judged_by", "mean")
    by_name = {(f["name"], "middle" if f["statistic"] == middle else f["statistic"]): f
               for f in case["figures"]}
    figure = next((by_name[name] for name in choices if name in by_name), None)
    return figure if figure and figure["relative_error"] is not None else None


def engine_of(case):
    return case["labels"].get("engine_name") or re.sub(r"-[0-9].*", "", case["engine"])


def gpu_of(case):
    return case["gpu"].split(" + ")[0]


def vendor_of(case):
    """As the name of a built-in GPU begins."""
    return case["gpu"].split("-")[0]


def family_of(case):
    return case["labels"].get("family", case["model"])
