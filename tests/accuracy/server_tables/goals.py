"""The table of goals of docs/accuracy.md: the project's goals for servers that others measured, and
what is reached. Data: ROWS; every figure comes from the program's answers, by the functions of the other
tables, so that they agree. Goals are percent unless said otherwise."""
import dataclasses
import re

from server_tables.answers import (BLIND, CHOICES, COLUMNS, engine_of, family_of, gpu_of,
                                   judged_figure, summed, vendor_of)
from server_tables.blind import errors_by_version
from server_tables.choices import line_of, sure_choices
from server_tables.documents import cells_of, row_of, rows_in
from server_tables.left_out import HOST_HEAD

HEAD = ["| runs | goal | reached | met | reason for the miss |", "|---|---|---|---|---|"]

FIGURES = {"TPOT": COLUMNS[0], "TTFT": COLUMNS[1], "E2E": COLUMNS[2], "rate": COLUMNS[2],
           "sequences": [("max_sequences", "value")], "watts": [("mean_power_w_per_gpu", "value")],
           "joules": [("joules_per_output_token", "value")]}
WORDS = {"mape": "", "median": "median ", "each": "largest "}


def passes(case, where):
    """Whether the case has these properties; a group by how it begins."""
    own = {"engine": engine_of(case), "gpu": gpu_of(case), "vendor": vendor_of(case),
           "family": family_of(case), "model": case["model"]}
    for key, wanted in where.items():
        wanted = wanted if isinstance(wanted, tuple) else (wanted,)
        if key == "group":
            if not case["group"].startswith(wanted):
                return False
        elif (own[key] if key in own else case["labels"].get(key)) not in wanted:
            return False
    return True


class OfManifest:
    """A part of a row that the answer of one manifest makes, without a number of runs of its own."""

    def needs(self):
        return [self.manifest]

    def runs(self, answers):
        return None


@dataclasses.dataclass
class Errors(OfManifest):
    """Absolute errors of cases of a manifest."""
    name: str
    manifest: str
    where: dict = dataclasses.field(default_factory=dict)
    goals: dict = None  # instead of the row's
    # Host terms are fitted to these runs: the row of HOST_HEAD with each group left out of the fit,
    # by which the goal is judged.
    left_out: tuple = ()

    def cases(self, answers):
        return [case for case in answers[self.manifest]["cases"] if passes(case, self.where)]

    def runs(self, answers):
        return len([case for case in self.cases(answers) if not case["answered"] or
                    any(judged_figure(case, names) for names in FIGURES.values())])

    def value(self, metric, statistic, answers):
        figures = [judged_figure(case, FIGURES[metric]) for case in self.cases(answers)
                   if case["answered"]]
        errors = [abs(one["relative_error"]) for one in figures if one]
        return 100 * summed(errors, statistic) if errors else None

    def without(self, document):
        """The mean errors with each group left out, by metric; of a set to which nothing is fitted,
        or without a document: none."""
        for row in rows_in(document, HOST_HEAD) if self.left_out and document else []:
            what, group, _, errors = cells_of(row)
            if (what, group) == self.left_out:
                return {found[1].replace("ITL", "TPOT"): float(found[2]) for found in
                        re.finditer(r"(\w+) [\d.]+, [\d.]+, ([\d.]+) %", errors)}
        return {}


@dataclasses.dataclass
class Versions(OfManifest):
    """The least and the largest mean error of an engine's versions on a GPU, none of which anything is
    fitted to. `key`: engine, GPU and weights in the ledger."""
    name: str
    manifest: str
    key: tuple
    goals: dict = None

    def value(self, metric, statistic, answers):
        name = {"TPOT": "tpot_s", "TTFT": "ttft_s"}[metric]
        versions = errors_by_version(answers[self.manifest]).get(self.key, {})
        errors = [100 * lines[name]["mape"] for lines in versions.values()]
        return (min(errors), max(errors)) if errors else None


@dataclasses.dataclass
class Choice(OfManifest):
    """What choices of a set by predictions are worth."""
    name: str
    manifest: str
    choice: str = "layout"
    saturated: bool = False
    gpu: str = ""
    goals: dict = None

    def value(self, metric, statistic, answers):
        line = line_of(answers[self.manifest], self.choice, self.saturated, self.gpu)
        key, scale = {"regret": ("regret", 100), "largest": ("largest_regret", 100),
                      "pairs": ("ordered", 100), "Kendall": ("kendall", 1)}[metric]
        return scale * line[key] if line and line[key] is not None else None


@dataclasses.dataclass
class Held:
    """Share of measured figures that the 80 % intervals hold."""
    name: str
    engine: str
    vendor: str
    goals: dict = None
    sets: tuple = tuple(BLIND)

    def needs(self):
        return self.sets

    def runs(self, answers):
        return None

    def value(self, metric, statistic, answers):
        figures = [judged_figure(case, FIGURES[metric]) for name in self.sets
                   for case in answers[name]["cases"]
                   if case["answered"] and (engine_of(case), vendor_of(case)) == (self.engine,
                                                                                  self.vendor)]
        held = [one["covered"] for one in figures if one]
        return 100 * sum(held) / len(held) if held else None


@dataclasses.dataclass
class Sure:
    """Choices called 90 % sure, of all sets."""
    name: str = ""
    goals: dict = None

    def needs(self):
        return [name for name in BLIND + CHOICES if name != "trtllm_0_13_max_throughput"]

    def sure(self, answers):
        return [held for called, held in sure_choices(answers.values()) if called >= 0.9]

    def runs(self, answers):
        return len(self.sure(answers))

    def value(self, metric, statistic, answers):
        sure = self.sure(answers)
        return 100 * sum(sure) / len(sure)


@dataclasses.dataclass
class Row:
    runs: str
    parts: list
    goals: dict  # metric: limit, or (least, most)
    reason: str = ""
    statistic: str = "mape"
    goal: str = ""  # the second cell, where it is not made of `goals`


LATENCY = {"TPOT": 4, "TTFT": 10}
R1 = {"TPOT": 8, "TTFT": 25}
DRAFTS = {"TPOT": 12, "TTFT": 25}
AMD = {"TPOT": 12, "TTFT": 30, "E2E": 12}
B200, H200, H100 = "nvidia-b200-sxm", "nvidia-h200-sxm", "nvidia-h100-sxm"
GB200, RTX = "nvidia-gb200", "nvidia-rtx-pro-6000"
PLAIN, MTP, ATOM, APART = BLIND[:4]
MORE, OLD = "trtllm_1_other_gpus_max_throughput", "trtllm_0_13_max_throughput"
DENSE = ("llama-3.1-8b", "llama-3.1-70b", "llama-3.1-405b")
EXPERTS = ("llama-4-scout", "llama-4-maverick", "qwen3-235b-a22b", "gpt-oss-20b", "gpt-oss-120b")
AT_LEAST = {"Kendall", "pairs", "sure"}


def r1(name, manifest, engine, gpu, family="DeepSeek-R1"):
    return Errors(name, manifest, {"engine": engine, "gpu": gpu, "family": family})


def saturated(name, gpu, family, rate, **labels):
    return Errors(name, MORE, {"gpu": gpu, "family": family, **labels}, {"rate": rate})


OTHER_CHOICES = [
    Choice("ATOM", ATOM), Choice("apart", APART), Choice("Llama-3.3-70B", "inferencemax_llama_70b"),
    Choice("gpt-oss-120b", "vllm_gpt_oss_h200"), Choice("cookbook", "sglang_cookbook"),
    Choice("SGLang, H100", "sglang_h100_closed_loop"), Choice("SGLang, H200", "sglang_closed_loop"),
    Choice("TensorRT-LLM, Llama-3.1-8B", "trtllm_llama_8b_closed_loop"),
    Choice("TensorRT-LLM, Qwen3-32B", "trtllm_closed_loop"), Choice("vLLM 0.12", "vllm_closed_loop")]
FITTED = ["vllm_h100_open_loop", "vllm_closed_loop", "vllm_request_level", "trtllm_closed_loop",
          "sglang_closed_loop", "trtllm_1_max_throughput", "trtllm_0_13_max_throughput"]
INTERVALS = [Held("vLLM", "vllm", "nvidia"), Held("TensorRT-LLM", "trtllm", "nvidia"),
             Held("SGLang", "sglang", "nvidia"), Held("SGLang on AMD", "sglang", "amd"),
             Held("ATOM", "atom", "amd")]
FITTED_LOOPS = ("host terms are fitted to the large closed loops, and a width says how far what was "
                "not fitted may be off")
OF_ALL = [dataclasses.replace(part, sets=tuple(BLIND + FITTED)) for part in INTERVALS[:3]]

ROWS = [
    Row("vLLM open loop", [
        Errors("H100", "vllm_h100_open_loop",
               left_out=("vLLM on H100, open loop", "each model in turn")),
        Errors("A100", "vllm_a100_l40s_open_loop", {"gpu": "nvidia-a100-sxm-80gb"}),
        Errors("L40S", "vllm_a100_l40s_open_loop", {"gpu": "nvidia-l40s"}),
        Errors("H100, vLLM 0.11", "vllm_kubecon_stages", {"group": "vLLM 0.11 on H100, open loop"})],
        {"TPOT": 3, "TTFT": 6, "E2E": 2.5},
        "H100: one run, Llama-4-Scout with new prompts, is 4.5 points of TTFT's 7.7; left out "
        "without that model's own curve of experts 3.9, 8.0 and 3.7. A100: steps of "
        "Qwen3-14B are 9 % too fast, of Llama-2-70B 5 %. L40S: first tokens come 46 ms too early of 70. vLLM 0.11: first tokens of 27 to "
        "51 ms come 4 to 20 ms too early, with 170 requests/s of at most 178 70 ms too late; steps with "
        "new prompts are too fast"),
    Row("vLLM 0.12 closed loop, H100", [
        Errors("", "vllm_closed_loop", {"group": "vLLM 0.12 on H100, closed"},
               left_out=("vLLM 0.12 on H100, Qwen3-32B, closed loop", "each tp in turn"))], LATENCY),
    Row("closed loops with 100 distinct prompts, Qwen3-32B, H100", [
        Errors("vLLM 0.12", "vllm_closed_loop", {"group": "vLLM 0.12 on H100, 100"}),
        Errors("TensorRT-LLM 1.2", "trtllm_closed_loop", {"group": "TensorRT-LLM 1.2"})], LATENCY,
        "how many prompts a replica finds in its cache is assumed; one run of 224 requests, 104 % too "
        "slow, has no captured graph of its size"),
    Row("vLLM closed loop, Llama-3.3-70B", [
        Errors("H100", "inferencemax_llama_70b", {"engine": "vllm", "gpu": H100}),
        Errors("H200", "inferencemax_llama_70b", {"engine": "vllm", "gpu": H200})], LATENCY,
        "H100: the script's 8-bit cache contradicts the room that was measured in three runs; H200: "
        "kernels of vLLM 0.10 are told by 0.19's and 0.24's"),
    Row("TensorRT-LLM closed loop, H100", [
        Errors("Qwen3-32B", "trtllm_closed_loop", {"group": "TensorRT-LLM 1.0"},
               left_out=("TensorRT-LLM 1.0 on H100, Qwen3-32B, closed loop", "each tp in turn")),
        Errors("Llama-3.1-8B", "trtllm_llama_8b_closed_loop")], LATENCY,
        "its front end passes on at most 9,200 tokens a second, and some answers come whole at their "
        "end; neither is modelled"),
    Row("TensorRT-LLM closed loop, Llama-3.3-70B on H200", [
        Errors("", "inferencemax_llama_70b", {"engine": "trtllm"})], LATENCY,
        "products of version 1.2.0rc5 take longer than the server's seem to"),
    Row("SGLang closed loop", [
        Errors("H100, Qwen3-32B", "sglang_h100_closed_loop"),
        Errors("H200, Llama-3.1-8B", "sglang_closed_loop",
               left_out=("SGLang 0.5.6 on H200, Llama-3.1-8B, closed loop", "each tp in turn"))],
        LATENCY,
        "H100: one run on one GPU, whose cache holds little: TTFT 89 s, 18 predicted; 3.9 and 11.1 "
        "without it. H200: with SGLang's defaults, since nothing else is on record, the server "
        "computed prompts beside decodes"),
    Row("gpt-oss-120b, H200", [
        Errors("plain", "vllm_gpt_oss_h200", {"family": "gpt-oss"}),
        Errors("EAGLE3", "vllm_gpt_oss_h200", {"family": "gpt-oss EAGLE3"})],
        {"TPOT": 5, "TTFT": 12, "E2E": 5},
        "decodes of up to 64 sequences 9 to 14 % too slow: Marlin's experts are estimated from another "
        "mixture's"),
    Row("DeepSeek-R1, SGLang", [r1("B200", PLAIN, "sglang", B200), r1("H200", PLAIN, "sglang", H200)],
        R1, "B200: prompts of 8,192 tokens in fp8 take half as long again as their kernels"),
    Row("DeepSeek-R1, TensorRT-LLM",
        [r1("B200", PLAIN, "trtllm", B200), r1("H200", PLAIN, "trtllm", H200)], R1,
        "B200: two runs in fp8 waited 5 s for room in the cache that the plan has"),
    Row("DeepSeek-R1 with drafts, SGLang", [r1("B200", MTP, "sglang", B200, "DeepSeek-R1 MTP"),
                                r1("H200", MTP, "sglang", H200, "DeepSeek-R1 MTP")], DRAFTS,
        "acceptance is that of another model on such prompts; with 512 in flight the overlap schedule "
        "was off; one image was faulty"),
    Row("DeepSeek-R1 with drafts, TensorRT-LLM", [r1("B200", MTP, "trtllm", B200, "DeepSeek-R1 MTP"),
                                      r1("H200", MTP, "trtllm", H200, "DeepSeek-R1 MTP")], DRAFTS,
        "as without drafts"),
    Row("DeepSeek-R1, MI300X, SGLang", [r1("", PLAIN, "sglang", "amd-mi300x")], AMD,
        "prompts of 8,192 tokens take twice as long as their kernels, and decodes wait for them"),
    Row("DeepSeek-R1, MI355X, SGLang", [
        r1("plain", PLAIN, "sglang", "amd-mi355x"),
        r1("with drafts", MTP, "sglang", "amd-mi355x", "DeepSeek-R1 MTP")], AMD,
        "version 0.5.2: what its images ran is not on record, and on two of its days the same server took up to "
        "twice as long as on the next three"),
    Row("DeepSeek-R1, SGLang, each version left out", [
        Versions("MI300X", PLAIN, ("sglang", "mi300x", "-")),
        Versions("MI355X fp4", PLAIN, ("sglang", "mi355x", "mxfp4")),
        Versions("MI355X fp8", PLAIN, ("sglang", "mi355x", "-"))], {"TPOT": 20},
        "MI355X: 0.5.2 alone, 36.0 and 22.1", goal="TPOT 20, each version"),
    Row("DeepSeek-R1, MI355X, ATOM", [r1("plain", ATOM, "atom", "amd-mi355x"),
                                      r1("with drafts", ATOM, "atom", "amd-mi355x",
                                         "DeepSeek-R1 MTP")], AMD),
    Row("Llama, MI300X, vLLM", [Errors("", "vllm_mi300x")], {"rate": 12},
        "16-bit products of MI300X have no table, those in fp8 four shapes", goal="rate 12"),
    Row("DeepSeek-R1 apart, SGLang",
        [r1(name, APART, "sglang", gpu, "DeepSeek-R1, apart")
         for name, gpu in (("B200", B200), ("H200", H200), ("GB200", GB200))], R1,
        "prefill servers pass on half to two thirds of the tokens predicted; experts over 24 to 48 "
        "ranks"),
    Row("DeepSeek-R1 apart, TensorRT-LLM",
        [r1(name, APART, "trtllm", gpu, "DeepSeek-R1, apart")
         for name, gpu in (("B200", B200), ("H200", H200), ("GB200", GB200))], R1,
        "waiting for a decode server, of which these runs have one place for each request or fewer"),
    Row("DeepSeek-R1 apart with drafts, SGLang",
        [r1(name, APART, "sglang", gpu, "DeepSeek-R1 MTP, apart")
         for name, gpu in (("B200", B200), ("H200", H200))], DRAFTS, "as without"),
    Row("DeepSeek-R1 apart with drafts, TensorRT-LLM",
        [r1(name, APART, "trtllm", gpu, "DeepSeek-R1 MTP, apart")
         for name, gpu in (("B200", B200), ("H200", H200), ("GB200", GB200))], DRAFTS, "as without"),
    Row("saturated TensorRT-LLM 1.x, H100", [
        Errors("dense", "trtllm_1_max_throughput", {"model": DENSE}, {"rate": 8}),
        Errors("experts", "trtllm_1_max_throughput", {"model": EXPERTS}, {"rate": 12})], {},
        "experts over four ranks: Llama-4-Scout 42 and gpt-oss-120b 32 % too fast", "median"),
    Row("saturated TensorRT-LLM 1.0, H200 in fp8", [
        saturated("Llama", H200, "Llama", 8), saturated("Llama-4", H200, "Llama-4", 12),
        saturated("Qwen3", H200, "Qwen3 MoE", 12)], {},
        "Llama-4-Maverick and Qwen3-235B, prompts above all, 27 % too fast over eight ranks", "median"),
    Row("saturated TensorRT-LLM 1.0, B200", [
        saturated("Llama", B200, "Llama", 8), saturated("Llama-4", B200, "Llama-4", 12),
        saturated("Qwen3", B200, "Qwen3 MoE", 12)], {}, statistic="median"),
    Row("saturated TensorRT-LLM 1.0, GB200", [
        saturated("Llama", GB200, "Llama", 8), saturated("Llama-4-Scout", GB200, "Llama-4", 12),
        saturated("Qwen3-30B", GB200, "Qwen3 MoE", 12)], {},
        "Llama-4-Scout 19 % too fast, on one B200 14; no count of its experts' picks was found", "median"),
    Row("saturated TensorRT-LLM 1.0, RTX PRO 6000, Llama", [
        saturated("2, 4 and 8 pipeline stages", RTX, "Llama", 15, pipeline=("2", "4", "8")),
        saturated("one stage", RTX, "Llama", 8, pipeline="1")], {},
        "one stage: decodes up to 21 % too slow; their products in nvfp4 are told by 1.3's", "median"),
    Row("saturated TensorRT-LLM 1.0, RTX PRO 6000, experts", [
        saturated("Llama-4", RTX, "Llama-4", 12), saturated("Qwen3", RTX, "Qwen3 MoE", 12)], {},
        "Llama-4-Scout 13 and 17 % too fast; no count of its experts' picks was found", "median"),
    Row("saturated TensorRT-LLM 0.13", [
        Errors(name, "trtllm_0_13_max_throughput", {"group": f"TensorRT-LLM v0.13, {name}"})
        for name in ("H100 fp8", "H100 fp16", "A100 fp16", "L40S fp8")], {"rate": 8},
        "kernels of built engines are told by efficiencies", "median"),
    Row("requests replayed", [Errors("", "vllm_request_level")],
        {"TPOT": 1.5, "TTFT": 3, "E2E": 1.5},
        "RTX 4090: the sum of its kernel tables is 1.4 % longer than its steps", "each"),
    Row("TensorRT-LLM, most sequences", [Errors("", "trtllm_max_concurrency")], {"sequences": 0.5}),
    Row("power, MI355X, to which three terms are fitted", [Errors("", "inferencex_power")],
        {"watts": 10, "joules": 10}),
    Row("regret of a layout, DeepSeek-R1", [Choice("plain", PLAIN), Choice("with drafts", MTP)],
        {"regret": 3, "largest": (0, 99.9)},
        "two questions and one whose limit the choice misses count as all", goal="3, never 100"),
    Row("regret per dollar, DeepSeek-R1", [Choice("plain", PLAIN, "gpu_per_dollar"),
                                           Choice("with drafts", MTP, "gpu_per_dollar")],
        {"regret": 8}, "one question that counts as all"),
    Row("order of deployments, Kendall, DeepSeek-R1", [
        Choice("plain", PLAIN), Choice("with drafts", MTP),
        Choice("per dollar", PLAIN, "gpu_per_dollar"),
        Choice("per dollar with drafts", MTP, "gpu_per_dollar")], {"Kendall": 0.85},
        "per dollar: 0.01 short"),
    Row("saturated decisions, TensorRT-LLM 1.0", [
        Choice("layouts", MORE, "layout", True, RTX), Choice("GPUs", MORE, "gpu", True)],
        {"regret": 1.5, "pairs": 95},
        "layouts: five of seven pairs in the wrong order are one stage of Llama-3.3-70B beside more",
        goal="regret 1.5, 95 % of pairs"),
    Row("regret of a layout, other sets", OTHER_CHOICES, {"regret": 3, "largest": (0, 99.9)},
        "questions whose limit the choice misses count as all: one of ATOM's, three apart, two each of "
        "TensorRT-LLM's Llama-3.1-8B and of SGLang's on H200", goal="3, never 100"),
    Row("order of deployments, Kendall, other sets", OTHER_CHOICES, {"Kendall": 0.85},
        "ATOM: ten of 106 pairs; apart: prefill servers pass on less than predicted"),
    Row("regret per dollar, other sets", [
        Choice("DeepSeek-R1 apart", APART, "gpu_per_dollar"),
        Choice("Llama-3.3-70B", "inferencemax_llama_70b", "gpu_per_dollar")], {"regret": 8},
        "apart as above; Llama-3.3-70B: with TensorRT-LLM on H200 TPOT is predicted a tenth too long"),
    Row("saturated decisions, TensorRT-LLM 0.13", [
        Choice(f"layouts, {name}", OLD, "layout", True, gpu) for name, gpu in
        (("H100", H100), ("A100", "nvidia-a100-sxm-80gb"), ("L40S", "nvidia-l40s"))] + [
        Choice("GPUs", OLD, "gpu", True)], {"regret": 1.5, "pairs": 95},
        "A100: five of 24 questions lose 5 to 19 %; H100: 24 of 395 pairs", goal="regret 1.5, 95 % of pairs"),
    Row("choices called 90 % sure", [Sure()], {"sure": 90},
        goal="nine in ten within 5 % of the best"),
    Row("80 % intervals, TPOT, sets to which nothing is fitted", INTERVALS, {"TPOT": (75, 85)},
        "ATOM: most of its 27 runs with drafts lie within what acceptance may vary by",
        goal="hold 75 to 85 of 100"),
    Row("80 % intervals, TTFT, such sets", INTERVALS, {"TTFT": (75, 85)},
        "", goal="hold 75 to 85 of 100"),
    Row("80 % intervals, E2E and rates, such sets", INTERVALS, {"E2E": (75, 85)},
        "vLLM: 26 of 30 runs; ATOM as TPOT", goal="hold 75 to 85 of 100"),
    Row("80 % intervals, TPOT, all sets", OF_ALL, {"TPOT": (75, 85)}, FITTED_LOOPS,
        goal="hold 75 to 85 of 100"),
    Row("80 % intervals, TTFT, all sets", OF_ALL, {"TTFT": (75, 85)},
        FITTED_LOOPS + "; SGLang: on H200 first tokens are predicted 2.5 times as long",
        goal="hold 75 to 85 of 100"),
    Row("80 % intervals, E2E and rates, all sets", OF_ALL, {"E2E": (75, 85)},
        "vLLM: as the rows above", goal="hold 75 to 85 of 100"),
]


def is_met(metric, value, limit):
    if isinstance(value, tuple):
        value = value[1]
    if isinstance(limit, tuple):
        return limit[0] <= round(value) <= limit[1] if limit[0] else value <= limit[1]
    return value >= limit if metric in AT_LEAST else value <= limit


def text_of(metric, value, limit):
    if value is None:
        return "-"
    if isinstance(value, tuple):
        return f"{value[0]:.1f} to {value[1]:.1f}"
    if metric == "Kendall":
        return f"{value:.2f}"
    if metric == "largest":
        return f"largest {value:.0f}"
    if metric == "pairs":
        return f"{value:.1f} % of pairs"
    if metric == "sure":
        return f"{value:.0f} of 100"
    if isinstance(limit, tuple):
        return f"{value:.0f}"
    text = f"{value:.1f}"  # 4.03 where 4.0 would seem to meet 4
    return text if (float(text) <= limit) == (value <= limit) else f"{value:.2f}"


def goal_text(row):
    if row.goal:
        return row.goal
    def listed(goals):
        names = len(goals) > 1 and row.statistic != "median"
        return ", ".join(f"{metric} {limit:g}" if names else f"{limit:g}"
                         for metric, limit in goals.items())
    texts = [listed(part.goals or row.goals) for part in row.parts]
    return WORDS[row.statistic] + (texts[0] if len(set(texts)) == 1 else "; ".join(texts))


def met_text(results):
    """`results`: (part, metric, whether met) of each figure."""
    if all(met for _, _, met in results):
        return "yes"
    metrics = list(dict.fromkeys(metric for _, metric, _ in results))
    parts = list(dict.fromkeys(part for part, _, _ in results))
    words = []
    for metric in metrics:
        of_metric = [(part, met) for part, one, met in results if one == metric]
        good = [part for part, met in of_metric if met]
        if not good:
            continue
        where = "" if len(good) == len(of_metric) or len(parts) == 1 else ", ".join(good)
        if len(metrics) == 1:
            words.append(where or metric)
        else:
            words.append(metric + (f" ({where})" if where else ""))
    return "; ".join(words) or "no"


def title_of(row, answers):
    parts = []
    for part in row.parts:
        runs = part.runs(answers) if answers is not None else None
        parts.append(part.name + (f" ({runs})" if runs is not None else ""))
    if len(parts) == 1:
        return row.runs + (parts[0] if not row.parts[0].name else f", {parts[0]}")
    return f"{row.runs}: " + "; ".join(parts)


def made_row(row, answers, document):
    reached, results = [], []
    for part in row.parts:
        goals = part.goals or row.goals
        values = {metric: part.value(metric, row.statistic, answers) for metric in goals}
        without = part.without(document) if isinstance(part, Errors) else {}
        reached.append(", ".join(
            text_of(metric, value, goals[metric]) +
            (f" (left out {text_of(metric, without[metric], goals[metric])})" if metric in without
             else "") for metric, value in values.items()))
        results += [(part.name, metric, is_met(metric, without.get(metric, value), goals[metric]))
                    for metric, value in values.items() if value is not None]
    met = met_text(results)
    return row_of([title_of(row, answers), goal_text(row), "; ".join(reached), met,
                   row.reason if met != "yes" else ""])


def without_counts(title):
    return re.sub(r" ?\(\d+\)", "", title)


def goal_rows(answers, document=None):
    """The table's rows by `answers` (by manifest), and those rows' titles of which a set has no
    answer: these are as in `document`, or left out."""
    known = {}
    if document:
        known = {without_counts(cells_of(row)[0]): row for row in rows_in(document, HEAD)}
    rows, kept = [], []
    for row in ROWS:
        if all(name in answers for part in row.parts for name in part.needs()):
            rows.append(made_row(row, answers, document))
            continue
        title = title_of(row, None)
        kept.append(title)
        if without_counts(title) in known:
            old = cells_of(known[without_counts(title)])
            rows.append(row_of([old[0], goal_text(row), *old[2:4],
                                row.reason if old[3] != "yes" else ""]))
    return rows, kept
