// Turns the chosen values into command-line flags, and into the command line itself.

import { addMore } from "./more.js";

// Flags by the key of their value; omitted if that is empty, which leaves the engine's default.
export const MACHINE = [
  ["model", "model"],
  ["gpu", "gpu"],
  ["engine", "engine"],
  ["tp", "tensor-parallel-size"],
  ["quantization", "quantization"],
  ["kv_cache_dtype", "kv-cache-dtype"],
  ["gpu_memory_utilization", "gpu-memory-utilization"],
  ["max_model_len", "max-model-len"],
];
const LOAD = [
  ["replicas", "replicas"],
  ["request_rate", "request-rate"],
  ["num_prompts", "num-prompts"],
  ["input_len", "input-len"],
  ["output_len", "output-len"],
];
const UNSAID = { tp: "1", replicas: "1" };

function taken(pairs, values) {
  const flags = {};
  for (const [key, flag] of pairs) {
    if (values[key] !== "" && values[key] !== UNSAID[key]) flags[flag] = values[key];
  }
  return flags;
}

export function machineFlags(values) {
  return taken(MACHINE, values);
}

export function simulationFlags(values) {
  const slo = [];
  if (values.ttft !== "") slo.push(`p95:ttft:${values.ttft}ms`);
  if (values.tpot !== "") slo.push(`p95:tpot:${values.tpot}ms`);
  const flags = { ...machineFlags(values), ...taken(LOAD, values), ...(slo.length ? { slo } : {}) };
  addMore(flags, values);
  return flags;
}

/// The words of a command line, without a shell's quotes.
function wordsOf(line) {
  const words = [];
  for (const [, ...parts] of line.matchAll(/((?:[^\s']|'[^']*')+)/g)) {
    words.push(parts[0].replace(/'([^']*)'/g, "$1"));
  }
  return words;
}

const KEY_OF = new Map([
  ...[...MACHINE, ...LOAD].map(([key, flag]) => [flag, key]),
  ["tp", "tp"],
  ["router", "router"],
  ["prefix-len", "prefix_len"],
  ["prefill-replicas", "prefill_replicas"],
  ["decode-replicas", "decode_replicas"],
  ["speculative-method", "speculative"],
  ["num-speculative-tokens", "drafts"],
  ["acceptance-rate", "acceptance"],
  ["isl", "input_len"],
  ["osl", "output_len"],
]);

/// "roofcast simulate --gpu h100 --slo p95:ttft:500ms ..." as values of the form; null if it says
/// more than the form holds.
export function valuesOf(line) {
  const [, command, ...words] = wordsOf(line);
  if (command !== "simulate") return null;
  const values = { ttft: "", tpot: "" };
  let flag = "";
  for (const word of words) {
    if (word.startsWith("--")) {
      const equals = word.indexOf("=");
      flag = word.slice(2, equals < 0 ? undefined : equals);
      if (flag === "no-store") flag = "";
      if (equals < 0) continue;
      words.splice(words.indexOf(word) + 1, 0, word.slice(equals + 1));
      continue;
    }
    if (flag === "store" || flag === "seed") continue;
    const target = word.match(/^p95:(ttft|tpot):([0-9.]+)(ms|s)?$/);
    const lengths = word.match(/^lognormal:([0-9]+):([0-9.]+)$/);
    if (flag === "slo" && target) {
      values[target[1]] = String(Number(target[2]) * (target[3] === "s" ? 1000 : 1));
    } else if (KEY_OF.get(flag) && lengths) {
      values[KEY_OF.get(flag)] = lengths[1];
      values.spread = lengths[2];
    } else if (KEY_OF.get(flag)) {
      values[KEY_OF.get(flag)] = word;
    } else if (flag) {
      return null;
    }
  }
  return values;
}

export function lessonFlags(values) {
  return { prompt: values.prompt, generate: values.generate, ...machineFlags(values) };
}

export function commandLine(command, flags) {
  const words = Object.entries(flags).map(
    ([flag, value]) => `--${flag} ${[].concat(value).join(" ")}`,
  );
  return `roofcast ${command} ${words.join(" ")}`;
}
