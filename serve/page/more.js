// What changes a load or an engine beyond the sliders: lengths that vary, shared prefixes, separate
// pools for prefill and decode, routing, speculative decoding.

/// Values by key, all empty by default: `state.js` keeps them in the address.
export const MORE = {
  spread: "",
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

export const hasPools = (values) =>
  values.prefill_replicas !== "" || values.decode_replicas !== "";

/// Adds the flags of what is chosen to `flags`, in place.
export function addMore(flags, values) {
  if (values.spread !== "") {
    flags["input-len"] = lengths(values.input_len, values.spread);
    flags["output-len"] = lengths(values.output_len, values.spread);
  }
  if (values.prefix_len !== "") flags["prefix-len"] = values.prefix_len;
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
