// Turns the chosen values into command-line flags, and into the command line itself.

import { addMore, firstOf } from "./more.js";
import { DEFAULTS } from "./state.js";

// Keys of values with their flag and its aliases; omitted if the value is empty, which leaves the
// engine's default.
export const MACHINE = [
  ["model", "model"],
  ["gpu", "gpu"],
  ["engine", "engine"],
  ["tp", "tensor-parallel-size", "tp"],
  ["quantization", "quantization"],
  ["kv_cache_dtype", "kv-cache-dtype"],
  ["gpu_memory_utilization", "gpu-memory-utilization"],
  ["max_model_len", "max-model-len"],
];
const LOAD = [
  ["replicas", "replicas"],
  ["request_rate", "request-rate"],
  ["num_prompts", "num-prompts"],
  ["input_len", "input-len", "isl"],
  ["output_len", "output-len", "osl"],
];
/// Those that more.js sets.
const MORE_FLAGS = [
  ["trace", "trace"],
  ["rate_scale", "rate-scale"],
  ["turns", "turns"],
  ["think", "think-time"],
  ["prefix_len", "prefix-len"],
  ["router", "router"],
  ["prefill_replicas", "prefill-replicas"],
  ["decode_replicas", "decode-replicas"],
  ["speculative", "speculative-method"],
  ["drafts", "num-speculative-tokens"],
  ["acceptance", "acceptance-rate"],
];
const KEY_OF = new Map(
  [...MACHINE, ...LOAD, ...MORE_FLAGS].flatMap(([key, ...names]) => names.map((name) => [name, key])),
);
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

/// `lists` are the server's limits and traces.
export function simulationFlags(values, lists) {
  const slo = [];
  if (values.ttft !== "") slo.push(`p95:ttft:${values.ttft}ms`);
  if (values.tpot !== "") slo.push(`p95:tpot:${values.tpot}ms`);
  const flags = { ...machineFlags(values), ...taken(LOAD, values), ...(slo.length ? { slo } : {}) };
  addMore(flags, values, lists);
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

/// [flag, its words] in their order; words before any flag under "".
function flagged(words) {
  const found = [["", []]];
  for (const word of words) {
    const [, flag, value] = word.match(/^--([^=]+)(?:=(.*))?$/) || [];
    if (flag === undefined) found.at(-1)[1].push(word);
    else found.push([flag, value === undefined ? [] : [value]]);
  }
  return found;
}

/// Puts limits such as "p95:ttft:500ms" into `values`; whether the form holds them all.
function takeLimits(texts, values) {
  for (const text of texts) {
    const target = text.match(/^p95:(ttft|tpot):([0-9.]+)(ms|s)?$/);
    if (!target) return false;
    values[target[1]] = String(Number(target[2]) * (target[3] === "s" ? 1000 : 1));
  }
  return texts.length > 0;
}

/// Turns and think times, whose requests the form counts together; whether it holds them.
function takeSessions(flags, values) {
  const given = new Map(flags);
  if (!given.has("turns")) return !given.has("think-time");
  const [turns] = given.get("turns");
  const think = (given.get("think-time") || [""])[0].match(/^exponential:([0-9.]+)$/);
  if (!/^[0-9]+$/.test(turns) || !think) return false;
  values.turns = turns;
  values.think = think[1];
  values.num_prompts = String(Math.round((values.num_prompts || DEFAULTS.num_prompts) * turns));
  if (values.request_rate)
    values.request_rate = String(Number((values.request_rate * turns).toPrecision(6)));
  return true;
}

const LENGTHS = ["input_len", "output_len", "turns", "think"];

/// Of "num_prompts: '0' must be at least 1": the form's key, and what is wrong in the form's words;
/// null if it is about no field. `said` is the program's refusal.
export function refusedField(said) {
  const limit = said.match(/^slo: target 'p95:(ttft|tpot):([^']*?)(ms)?'/);
  if (limit) return { key: limit[1], why: `'${limit[2]}' must be a time above 0` };
  const [, name, why] = said.match(/^([a-z_]+): (.*)$/s) || [];
  const key = KEY_OF.get(name?.replaceAll("_", "-"));
  if (!key) return null;
  const think = key === "think" && why.match(/^think time '(?:[a-z]+:)?([^']*)': expected/);
  if (think) return { key, why: `'${think[1]}' must be seconds from 0 to 2,592,000` };
  const length = LENGTHS.includes(key) && why.match(/^length '([^']*)': expected/);
  if (length) {
    // With a spread the form's number is the median of a distribution.
    const [, median, sigma] = length[1].match(/^lognormal:([^:]*):(.*)$/) || [null, length[1], ""];
    const [low, high] = [1, 1e7];
    const whole = /^[0-9]+$/.test(median) && Number(median) >= low && Number(median) <= high;
    if (whole && sigma !== "") return { key: "spread", why: `'${sigma}' must be from 0 to 10` };
    return { key, why: `'${median}' must be a whole number from 1 to 10,000,000` };
  }
  return { key, why };
}

const LENGTH = /^([0-9]+)$|^lognormal:([0-9]+):([0-9.]+)$/;

/// "roofcast simulate --gpu h100 --slo p95:ttft:500ms ..." as values of the form; null if it says
/// more than the form holds. `lists` are the server's limits and traces.
export function valuesOf(line, lists) {
  const [, command, ...words] = wordsOf(line);
  if (command !== "simulate" && command !== "capacity") return null;
  const values = { ttft: "", tpot: "" };
  const spreads = { input_len: "", output_len: "" };
  let first = ""; // requests of the trace
  const [[, positional], ...flags] = flagged(words);
  if (positional.length) return null;
  for (const [flag, texts] of flags) {
    const key = KEY_OF.get(flag);
    if (flag === "slo") {
      if (!takeLimits(texts, values)) return null;
    } else if (flag === "max-requests") {
      [first] = texts;
    } else if (["turns", "think-time"].includes(flag)) {
      continue;
    } else if (flag === "no-store" && !texts.length) {
      continue;
    } else if (texts.length !== 1) {
      return null;
    } else if (key in spreads) {
      const length = texts[0].match(LENGTH);
      if (!length) return null;
      values[key] = length[1] || length[2];
      spreads[key] = length[3] || "";
    } else if (key) {
      values[key] = texts[0];
    } else if (flag !== "store") {
      return null;
    }
  }
  if (values.trace !== undefined && !lists.traces.some(({ name }) => name === values.trace)) {
    return null; // a file of whoever made the run
  }
  if (first !== firstOf(values.trace, lists)) return null;
  if (!takeSessions(flags, values)) return null;
  if (spreads.input_len !== spreads.output_len) return null;
  if (spreads.input_len) values.spread = spreads.input_len;
  return values;
}

export function lessonFlags(values) {
  return { prompt: values.prompt, generate: values.generate, ...machineFlags(values) };
}

export function commandLine(command, flags) {
  const words = Object.entries(flags).map(
    ([flag, value]) => `--${flag}${value === true ? "" : ` ${[].concat(value).join(" ")}`}`,
  );
  return `roofcast ${command} ${words.join(" ")}`;
}
