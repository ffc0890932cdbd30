// Turns the chosen values into command-line flags, and into the command line itself.

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
  return { ...machineFlags(values), ...taken(LOAD, values), ...(slo.length ? { slo } : {}) };
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
