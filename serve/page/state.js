// The question is kept in the address, so that a link repeats it: "#plan?model=...&tp=2"

import { MORE } from "./more.js";

export const DEFAULTS = {
  model: "llama-3.1-8b",
  gpu: "nvidia-h100-sxm",
  engine: "",
  tp: "1",
  replicas: "1",
  quantization: "",
  kv_cache_dtype: "",
  gpu_memory_utilization: "",
  max_model_len: "",
  request_rate: "10",
  input_len: "1024",
  output_len: "128",
  num_prompts: "1000",
  ttft: "500",
  tpot: "50",
  prompt: "500",
  generate: "200",
  step: "", // of the lesson; empty: where the reader was
  term: "", // of the glossary
  ...MORE,
};

const PAGES = ["plan", "learn", "runs", "glossary"];
const FORMER = { staircase: "learn" }; // names in old links
const PAGE_OF = { step: "learn", term: "glossary" }; // values of one page only
// Only short, plain values: an address may come from anywhere. The server checks them too.
const PLAIN = /^[A-Za-z0-9 ._:+-]{0,80}$/;

export function read() {
  const [name, query] = location.hash.slice(1).split("?");
  const page = FORMER[name] || name;
  const values = { ...DEFAULTS };
  for (const [key, value] of new URLSearchParams(query || "")) {
    if (key in DEFAULTS && PLAIN.test(value)) values[key] = value;
  }
  return { page: PAGES.includes(page) ? page : "plan", values };
}

export function address(page, values) {
  const changed = Object.entries(values).filter(
    ([key, value]) => value !== DEFAULTS[key] && (PAGE_OF[key] || page) === page,
  );
  const query = new URLSearchParams(changed).toString();
  return "#" + page + (query ? "?" + query : "");
}

const REST = 800; // ms after which a change is a step of its own, for the browser's Back
let written = -Infinity;

/// A change soon after another, as while a slider moves, replaces it.
export function write(page, values) {
  const to = address(page, values);
  if (to === location.hash) return;
  const now = performance.now();
  if (now - written > REST) history.pushState(null, "", to);
  else history.replaceState(null, "", to);
  written = now;
}
