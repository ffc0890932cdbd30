// Controls for a deployment, its load and its SLO.
import { choice, slider } from "./controls.js";
import { count } from "./format.js";

import { METHODS, ROUTERS, SPREADS } from "./more.js";

const POWERS = [1, 2, 4, 8, 16];

export const MORE_TITLE = "More: lengths, sessions, pools, speculation";

/// Options of the choice of a trace.
export function tracesOf(traces) {
  return [
    ["", "none: the load below"],
    ...traces.map(({ name, requests }) => [name, `${name} (${count(requests)} requests)`]),
  ];
}

/// `lists`: the server's models, GPUs and engines. Returns groups by title and controls by key.
export function controlsOf(lists, changed) {
  const select = (key, label, options) => choice({ key, label }, options, changed);
  const move = (question) => slider(question, changed);
  const engines = lists.engines.map(({ name }) => [name, name]);
  const defaultEngine = lists.engines.find(({ is_default }) => is_default).name;
  return {
    "Model and GPUs": {
      model: select(
        "model",
        "Model",
        lists.models.map(({ name }) => [name, name]),
      ),
      gpu: select(
        "gpu",
        "GPU",
        lists.gpus.map((gpu) => [gpu.name, gpu.display_name]),
      ),
      tp: move({ key: "tp", label: "GPUs per replica (TP)", choices: POWERS }),
      replicas: move({ key: "replicas", label: "Replicas", low: 1, high: 32 }),
    },
    Load: {
      trace: select("trace", "Trace", tracesOf(lists.traces)),
      rate_scale: move({
        key: "rate_scale",
        label: "Rate relative to the recording",
        low: 0.1,
        high: 20,
        log: true,
        least: 0.001,
        optional: "recorded",
        usual: 1,
      }),
      request_rate: move({
        key: "request_rate",
        label: "Requests",
        unit: "/s",
        low: 0.1,
        high: 300,
        log: true,
        least: 0.001,
      }),
      input_len: move({
        key: "input_len",
        label: "Prompt",
        unit: "tokens",
        low: 16,
        high: 65536,
        log: true,
        least: 1,
      }),
      output_len: move({
        key: "output_len",
        label: "Answer",
        unit: "tokens",
        low: 1,
        high: 8192,
        log: true,
        least: 1,
      }),
      num_prompts: move({
        key: "num_prompts",
        label: "Requests simulated",
        low: 100,
        high: Math.min(lists.limits.requests, 10000),
        log: true,
        least: 1,
      }),
    },
    "SLO (95 % of requests)": {
      ttft: move({
        key: "ttft",
        label: "First token within",
        unit: "ms",
        low: 20,
        high: 20000,
        log: true,
        least: 1,
        optional: "no limit",
      }),
      tpot: move({
        key: "tpot",
        label: "Each further token within",
        unit: "ms",
        low: 2,
        high: 500,
        log: true,
        least: 1,
        optional: "no limit",
      }),
    },
    Engine: {
      engine: select("engine", "Engine", [["", `${defaultEngine} (default)`], ...engines]),
      quantization: select("quantization", "Weights", [
        ["", "checkpoint's format"],
        ["fp8", "fp8"],
        ["int8", "int8"],
        ["awq", "awq (4 bit)"],
      ]),
      kv_cache_dtype: select("kv_cache_dtype", "KV cache", [
        ["", "model's format"],
        ["fp8", "fp8"],
        ["bf16", "bf16"],
      ]),
      gpu_memory_utilization: move({
        key: "gpu_memory_utilization",
        label: "Share of GPU memory",
        low: 0.5,
        high: 0.98,
        step: 0.01,
        optional: "default",
        usual: 0.9,
      }),
      max_model_len: move({
        key: "max_model_len",
        label: "Longest sequence",
        unit: "tokens",
        low: 512,
        high: 131072,
        log: true,
        least: 1,
        optional: "model's",
      }),
    },
    [MORE_TITLE]: {
      spread: select("spread", "Lengths", SPREADS),
      turns: move({
        key: "turns",
        label: "Turns per session",
        low: 1,
        high: 32,
        optional: "single",
        usual: 1,
      }),
      think: move({
        key: "think",
        label: "Think time between turns",
        unit: "s",
        low: 1,
        high: 300,
        log: true,
        least: 0.1,
      }),
      prefix_len: move({
        key: "prefix_len",
        label: "Shared prefix",
        unit: "tokens",
        low: 16,
        high: 32768,
        log: true,
        least: 1,
        optional: "none",
        usual: 16,
      }),
      router: select("router", "Routing", ROUTERS),
      prefill_replicas: move({
        key: "prefill_replicas",
        label: "Replicas for prefill alone",
        low: 1,
        high: 16,
        optional: "none",
        usual: 1,
      }),
      decode_replicas: move({
        key: "decode_replicas",
        label: "Replicas for decode alone",
        low: 1,
        high: 16,
        optional: "none",
        usual: 1,
      }),
      speculative: select("speculative", "Speculation", METHODS),
      drafts: move({ key: "drafts", label: "Draft tokens", low: 1, high: 8 }),
      acceptance: move({
        key: "acceptance",
        label: "Accepted share of drafts",
        low: 0.05,
        high: 0.95,
        step: 0.05,
      }),
    },
  };
}
