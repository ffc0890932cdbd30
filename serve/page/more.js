// What changes a load or an engine beyond the sliders: traces, lengths that vary, sessions, shared
// prefixes, separate pools for prefill and decode, routing, speculative decoding.

/// Values by key, all empty by default: `state.js` keeps them in the address.
export const MORE = {
  trace: "",
  rate_scale: "",
  spread: "",
  turns: "",
  think: "10",
  prefix_len: "",
  router: "",
  prefill_replicas: "",
  decode_replicas: "",
  speculative: "",
  drafts: "3",
  acceptance: "0.7",
};

export const SPREADS = [
  ["", "all alike"],
  ["0.5", "lognormal, sigma 0.5"],
  ["0.9", "lognormal, sigma 0.9"],
  ["1.2", "lognormal, sigma 1.2"],
];

export const ROUTERS = [
  ["", "round robin"],
  ["least_outstanding", "fewest requests"],
  ["least_kv", "most room for K and V"],
  ["prefix_affinity", "where the prefix is cached"],
];

export const METHODS = [
  ["", "off"],
  ["ngram", "n-gram"],
  ["eagle", "EAGLE"],
  ["mtp", "MTP heads"],
];

function lengths(tokens, spread) {
  return spread === "" ? tokens : `lognormal:${tokens}:${spread}`;
}

/// Of what a trace replaces, and of what goes with it.
export const DRAWN = ["request_rate", "input_len", "output_len", "num_prompts"];
export const DRAWN_MORE = ["spread", "turns", "think", "prefix_len"];

export const hasPools = (values) =>
  values.prefill_replicas !== "" || values.decode_replicas !== "";

/// Of a load that is drawn, not recorded.
function addDrawn(flags, values) {
  if (values.spread !== "") {
    flags["input-len"] = lengths(values.input_len, values.spread);
    flags["output-len"] = lengths(values.output_len, values.spread);
  }
  if (values.prefix_len !== "") flags["prefix-len"] = values.prefix_len;
  if (values.turns !== "" && values.turns !== "1") {
    flags.turns = values.turns;
    flags["think-time"] = `exponential:${values.think}`;
    // Each arrival is a session: as many requests as without them, and as many a second.
    const turns = Math.max(1, Number(values.turns) || 1); // what is not a count is refused
    flags["num-prompts"] = String(Math.max(1, Math.round(values.num_prompts / turns)));
    flags["request-rate"] = String(Number((values.request_rate / turns).toPrecision(6)));
  }
}

/// Requests of a kept trace that a question simulates, as a text; empty: all. `lists` are the
/// server's limits and traces.
export function firstOf(trace, { limits, traces }) {
  const kept = traces.find(({ name }) => name === trace);
  return kept && kept.requests > limits.requests ? String(limits.requests) : "";
}

/// Adds the flags of what is chosen to `flags`, in place.
export function addMore(flags, values, lists) {
  if (values.trace !== "") {
    for (const name of ["request-rate", "input-len", "output-len", "num-prompts"]) delete flags[name];
    flags.trace = values.trace;
    const first = firstOf(values.trace, lists);
    if (first !== "") flags["max-requests"] = first;
    if (values.rate_scale !== "") flags["rate-scale"] = values.rate_scale;
  } else {
    addDrawn(flags, values);
  }
  if (hasPools(values)) {
    delete flags.replicas;
    flags["prefill-replicas"] = values.prefill_replicas || "1";
    flags["decode-replicas"] = values.decode_replicas || "1";
  } else if (values.router !== "" && Number(values.replicas) > 1) {
    flags.router = values.router;
  }
  if (values.speculative !== "") {
    flags["speculative-method"] = values.speculative;
    flags["num-speculative-tokens"] = values.drafts;
    flags["acceptance-rate"] = values.acceptance;
  }
}
