"""Errors on runs that had no part in a fit: host terms fitted by `roofcast fit` without a group of
runs, widths of intervals taken from the other groups."""
import copy
import csv
import gzip
import json
import math
import pathlib
import re
import subprocess
import tempfile

from server_tables.answers import (COLUMNS, engine_of, family_of, gpu_of, judged_figure, share,
                                   summed, vendor_of)
from server_tables.documents import cells_of

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent.parent
# Terms of model/engines/ that are fitted to the runs of a manifest.
FITTED_TERMS = {
    "vllm_h100_open_loop": "per_request_s,rank_skew_s",
    "vllm_closed_loop": "per_request_s,rank_skew_s",
    "trtllm_closed_loop": "prompt_launch_s,graph_launch_s,per_request_s",
    "sglang_closed_loop": "serial_per_sequence_s",
}
# The cases of a manifest to which they are fitted, by how their group begins; else all.
FITTED_GROUPS = {"vllm_closed_loop": "vLLM 0.12 on H100, closed",
                 "trtllm_closed_loop": "TensorRT-LLM 1.0"}
WORDS = {"ttft_s": "TTFT", "tpot_s": "TPOT", "itl_s": "ITL", "e2e_s": "E2E"}
ROW = "left_out_row"    # a column that the tables are given
CASE = "left_out_case"  # a label: which template, which row
SHORT = {"tp": "tp_size"}
QUANTILE = 1.2816  # of a normal distribution, what an 80 % interval leaves above


class Failed(Exception):
    """The program gave no answer; why."""


class OneGroup(Exception):
    """All runs have the same value of the key."""


def asked(command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode not in (0, 1) or not done.stdout:
        raise Failed(done.stderr.strip().splitlines()[-1] if done.stderr.strip() else
                     f"exit code {done.returncode}")
    return json.loads(done.stdout)


def fitted(program, manifest, terms, profile):
    return asked([program, "fit", str(manifest), "--terms", terms, "--out", str(profile), "-o",
                  "json"])


LEFT_OUT_ONE_HEAD = ["| fitted to | terms | runs | mean error with the preset's terms, fitted, "
                     "leave one run out |", "|---|---|---|---|"]


def fitted_cases(program, manifest, parts):
    """The answered cases of `parts`, as built in, to which terms are fitted."""
    answer = asked([program, "validate", str(parts.written("built_in")), "--no-store", "-o", "json"])
    group = FITTED_GROUPS.get(manifest.stem, "")
    return [case for case in answer["cases"] if case["answered"] and case["group"].startswith(group)]


def left_out_row(program, manifest, name):
    """Errors with terms fitted to the manifest's runs, and with each run left out of the fit."""
    terms = FITTED_TERMS[manifest.stem]
    with tempfile.TemporaryDirectory() as folder:
        if manifest.stem in FITTED_GROUPS:
            parts = Parts(manifest, folder)
            chosen = [case["labels"][CASE] for case in fitted_cases(program, manifest, parts)]
            manifest = parts.written("fitted", chosen)
        answer = fitted(program, manifest, terms, f"{folder}/e.json")
    errors = [f"{one['name']} {100 * one['preset_mape']:.1f}, {100 * one['fitted_mape']:.1f}, " +
              ("-" if one["leave_one_run_out_mape"] is None else
               f"{100 * one['leave_one_run_out_mape']:.1f} %") for one in answer["metrics"]]
    return f"| {name} | {terms.replace(',', ', ')} | {answer['runs']} | {'; '.join(errors)} |"


class Parts:
    """A manifest whose cases can be chosen one by one, in a folder of its own."""

    def __init__(self, manifest, folder):
        self.folder = pathlib.Path(folder)
        self.manifest = json.loads(manifest.read_text())
        self.tables = []
        for index, case in enumerate(self.manifest["cases"]):
            rows = None
            if "rows" in case:
                rows = self.read(manifest.parent / case["rows"]["file"])
                case["rows"]["file"] = str(self.numbered(index, rows))
            self.tables.append(rows)
            case.setdefault("labels", {})[CASE] = f"{index}" + (f":${{{ROW}}}" if rows else "")

    @staticmethod
    def read(path):
        opened = gzip.open if path.suffix == ".gz" else open
        with opened(path, "rt") as file:
            if ".json" in path.suffixes:
                return json.load(file)
            return list(csv.DictReader(file))

    def numbered(self, index, rows):
        path = self.folder / f"rows{index}.json"
        path.write_text(json.dumps([{**row, ROW: number} for number, row in enumerate(rows)]))
        return path

    def written(self, name, chosen=None, host=None):
        """The manifest of the cases whose labels CASE are `chosen` (all: None), run by engines with
        these host terms (`host`; None: as they are)."""
        manifest = copy.deepcopy(self.manifest)
        cases = []
        for index, case in enumerate(manifest["cases"]):
            if host is not None:
                self.use_profiles(manifest.get("defaults", {}), index, host, name)
                self.use_profiles(case, index, host, name)
            if chosen is not None and self.tables[index] is None and str(index) not in chosen:
                continue
            if chosen is not None and self.tables[index] is not None:
                rows = [int(one.split(":")[1]) for one in chosen if one.startswith(f"{index}:")]
                if not rows:
                    continue
                case["rows"].setdefault("where", {})[ROW] = rows
            cases.append(case)
        manifest["cases"] = cases
        path = self.folder / f"{name}.json"
        path.write_text(json.dumps(manifest))
        return path

    def use_profiles(self, part, index, host, name):
        """Puts a profile in the place of the engine: its version's preset with these terms."""
        for one in [part, *part.get("rules", [])]:
            engine = one.get("scenario", {}).get("engine")
            if not engine or engine.endswith(".json"):
                continue
            folder = self.folder / f"engines_{name}"
            folder.mkdir(exist_ok=True)
            for preset in {filled(engine, row) for row in self.tables[index] or [{}]}:
                profile = {"schema_version": 1, "kind": "engine", "name": preset, "preset": preset,
                           "host": host}
                (folder / f"{preset}.json").write_text(json.dumps(profile))
            one["scenario"]["engine"] = str(folder / f"{engine}.json")

    def value(self, case, key):
        """The case's value of the key: its GPU, model or version, a label, or a column."""
        index, *row = case["labels"][CASE].split(":")
        columns = self.tables[int(index)][int(row[0])] if row else {}
        if key == "version":
            template = self.manifest["cases"][int(index)].get("scenario", {})
            engine = template.get("engine") or self.manifest["defaults"]["scenario"]["engine"]
            return filled(engine, columns)
        own = {"gpu": gpu_of(case), "model": case["model"], "engine": engine_of(case)}
        for place, name in ((own, key), (case["labels"], key), (columns, key),
                            (columns, SHORT.get(key))):
            if name in place:
                return str(place[name])
        return None


def filled(text, columns):
    return re.sub(r"\$\{(\w+)\}", lambda found: str(columns.get(found[1], "")), text)


def mean_error(cases, metric):
    name, statistic = metric.split(" ") if " " in metric else (metric, "value")
    errors = [abs(figure["relative_error"]) for case in cases for figure in case["figures"]
              if (figure["name"], figure["statistic"]) == (name, statistic)
              and figure["relative_error"] is not None]
    return 100 * summed(errors, "mape") if errors else None


HOST_HEAD = ["| fitted to | left out | runs | built in, fitted to all, fitted to the others |",
             "|---|---|---|---|"]


def host_rows(program, manifest, key, what):
    """Rows of HOST_HEAD: errors on each group of the manifest's runs, with the terms built in, with
    those fitted to all runs, and with those fitted to the other groups. A term that these cannot
    identify is as built in, which is said."""
    terms = FITTED_TERMS[manifest.stem]
    with tempfile.TemporaryDirectory() as folder:
        parts = Parts(manifest, folder)

        def cases_of(name, chosen, host):
            answer = asked([program, "validate", str(parts.written(name, chosen, host)),
                            "--no-store", "-o", "json"])
            return [case for case in answer["cases"] if case["answered"]]

        def host_of(name, chosen):
            profile = parts.folder / f"fit_{name}.json"
            answer = fitted(program, parts.written(name, chosen), terms, profile)
            doubtful = [term["name"] for term in answer["terms"] if not term["identified"]]
            return json.loads(profile.read_text()).get("host", {}), answer["fitted_metrics"], doubtful

        built_in = fitted_cases(program, manifest, parts)
        everything = [case["labels"][CASE] for case in built_in]
        groups = {}
        for case in built_in:
            groups.setdefault(parts.value(case, key), []).append(case["labels"][CASE])
        if len(groups) < 2:
            value = next(iter(groups))
            raise OneGroup(f"its runs have one {key}, {value}" if value else f"its runs have no {key}")
        host, metrics, _ = host_of("all", everything)
        to_all = cases_of("to_all", everything, host)
        rows, every = [], []
        for number, (value, chosen) in enumerate(sorted(groups.items())):
            others = [one for name, labels in groups.items() if name != value for one in labels]
            host, _, doubtful = host_of(f"others_{number}", others)
            without = cases_of(f"left_{number}", chosen, host)
            every += without
            of_group = [[case for case in cases if case["labels"][CASE] in chosen]
                        for cases in (built_in, to_all)] + [without]
            note = f" ({', '.join(doubtful)} as built in)" if doubtful else ""
            rows.append(host_row(what, f"{key} {value}{note}", of_group, metrics))
        return rows + [host_row(what, f"each {key} in turn", [built_in, to_all, every], metrics)]


def host_key(row):
    """Which rows of HOST_HEAD are made together: of a manifest and a key."""
    what, left_out = cells_of(row)[:2]
    words = left_out.split(" ")
    return what, words[1] if words[0] == "each" else words[0]


def host_row(what, left_out, cases, metrics):
    errors = []
    for metric in metrics:
        of_metric = [mean_error(some, metric) for some in cases]
        if None not in of_metric:
            errors.append(f"{WORDS.get(metric.split(' ')[0], metric)} " +
                          ", ".join(f"{one:.1f}" for one in of_metric) + " %")
    return f"| {what} | {left_out} | {len(cases[-1])} | {'; '.join(errors)} |"


# Which file holds an engine's width of first tokens.
ENGINE_FILES = {"vllm": "vllm", "trtllm": "tensorrt_llm", "sglang": "sglang"}
ENGINE_NAMES = {"vllm": "vLLM", "trtllm": "TensorRT-LLM", "sglang": "SGLang"}


def built_in_width(engine):
    text = (ROOT / f"model/engines/{ENGINE_FILES[engine]}.cpp").read_text()
    return float(re.search(r"first_token_uncertainty = ([\d.]+)", text)[1])


def logarithms(figure):
    """Of measured over predicted, and of the interval's end on that side over predicted, in standard
    deviations."""
    deviation = math.log(figure["measured"] / figure["predicted"])
    if deviation > 0:
        return deviation, math.log(figure["interval_high"] / figure["predicted"]) / QUANTILE
    if figure["interval_low"] <= 0:
        return deviation, math.inf
    return deviation, math.log(figure["predicted"] / figure["interval_low"]) / QUANTILE


def width_needed(figure, width):
    """The least standard deviation of first tokens by which the interval, which has `width`, would
    hold what was measured."""
    deviation, wide = logarithms(figure)
    others = max(0.0, wide * wide - width * width)
    return math.sqrt(max(0.0, (deviation / QUANTILE) ** 2 - others))


def factor_needed(figure, _):
    """By how much the interval would have to be wider, in logarithms, to hold what was measured."""
    deviation, wide = logarithms(figure)
    return abs(deviation) / QUANTILE / wide if wide > 0 else (math.inf if deviation else 0.0)


def holds_eight_in_ten(needed):
    return sorted(needed)[math.ceil(0.8 * len(needed)) - 1]


def blind_value(case, key):
    own = {"gpu": gpu_of(case), "model": case["model"], "engine": engine_of(case),
           "family": family_of(case), "version": case["engine"]}
    return own.get(key, case["labels"].get(key))


def needed_by_group(answers, engine, key, column, needed_of, vendors=("nvidia", "amd")):
    """By the groups of an engine's runs: what each run's interval of this figure needs."""
    width = built_in_width(engine)
    groups = {}
    for answer in answers:
        for case in answer["cases"]:
            if not case["answered"] or engine_of(case) != engine or vendor_of(case) not in vendors:
                continue
            figure, value = judged_figure(case, COLUMNS[column]), blind_value(case, key)
            if figure and figure["interval_high"] and value:
                groups.setdefault(value, []).append(needed_of(figure, width))
    return groups


def group_words(groups, widths):
    ordered = sorted(groups, key=lambda name: (-len(groups[name]), name))
    return ", ".join(f"{name} ({len(groups[name])}, {widths[name]:.2f}) "
                     f"{share([one <= widths[name] for one in groups[name]])}" for name in ordered
                     if name in widths)


def left_out(groups):
    """The width that each group gets from the others, and how many of all runs are held with these."""
    widths, held = {}, []
    for name in groups:
        others = [one for other, needed in groups.items() if other != name for one in needed]
        if others:
            widths[name] = holds_eight_in_ten(others)
            held += [one <= widths[name] for one in groups[name]]
    return widths, held


FIRST_TOKEN_HEAD = ["| engine | built in | runs | held without | held as built in | held with the "
                    "others' width | left out (runs, the others' width) and held |",
                    "|---|---|---|---|---|---|---|"]
STEP_HEAD = ["| engine | GPUs | runs | held as built in | held with the others' factor | left out "
             "(runs, the others' factor on its intervals) and held |", "|---|---|---|---|---|---|"]


def first_token_rows(answers, key):
    rows = []
    for engine, name in ENGINE_NAMES.items():
        width = built_in_width(engine)
        groups = needed_by_group(answers, engine, key, 1, width_needed)
        every = [one for needed in groups.values() for one in needed]
        if len(groups) < 2:
            continue
        widths, held = left_out(groups)
        rows.append(f"| {name} | {width:.2f} | {len(every)} | {share([one == 0 for one in every])} | "
                    f"{share([one <= width for one in every])} | {share(held)} | "
                    f"{group_words(groups, widths)} |")
    return rows


def step_rows(answers, key):
    rows = []
    for engine, name in ENGINE_NAMES.items():
        for vendor in ("nvidia", "amd"):
            groups = needed_by_group(answers, engine, key, 0, factor_needed, (vendor,))
            every = [one for needed in groups.values() for one in needed]
            if len(groups) < 2:
                continue
            widths, held = left_out(groups)
            rows.append(f"| {name} | {vendor} | {len(every)} | "
                        f"{share([one <= 1 for one in every])} | {share(held)} | "
                        f"{group_words(groups, widths)} |")
    return rows
