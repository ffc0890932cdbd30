// The answer for a deployment in sentences and numbers.
import { data, element, prose, table } from "./element.js";
import { explained } from "./glossary.js";
import { memoryBar } from "./memory_bar.js";
import { hasPools } from "./more.js";
import { MACHINE } from "./questions.js";
import { count, dollars, fixed, gib, percent, probability, time, timeRange } from "./format.js";

const byId = (id) => document.getElementById(id);

function card(title, figure, words, ...more) {
  return element(
    "section",
    { class: "card" },
    element("h2", {}, title),
    element("p", { class: "big" }, figure),
    element("p", {}, ...explained(words)),
    ...more,
  );
}

function memoryCard(memory) {
  return card(
    "Memory",
    data(memory.kv_tokens, count(memory.kv_tokens) + " tokens"),
    "of KV cache per replica",
    element(
      "p",
      { class: "small" },
      data(memory.max_concurrency, fixed(memory.max_concurrency, 2)),
      ` sequences of ${count(memory.inputs.engine.max_model_len)} tokens; `,
      data(memory.memory_visible_bytes, gib(memory.memory_visible_bytes)),
      " per GPU",
    ),
  );
}

const LATENCIES = [
  ["ttft_s", "First token (TTFT)"],
  ["tpot_s", "Each further token (TPOT)"],
  ["e2e_s", "Whole answer (E2E)"],
];

const percentilesOf = (run) => Object.keys(run.ttft_s).filter((one) => /^p[0-9.]+$/.test(one));

/// What the intervals hold.
function intervalWords(run) {
  const level = percent(run.intervals.level, 0);
  const chance = run.intervals.chance
    ? ", and arrivals vary by chance"
    : "";
  const grows = run.intervals.saturates
    ? " At their slow end the engine does not keep up: they grow with the length of the run."
    : "";
  return element(
    "p",
    { class: "small" },
    `Below each: the range that holds it in ${level} of cases. Step times, first tokens, host work, KV capacity, the acceptance of drafts and the engine's version may be off${chance}.${grows}`,
  );
}

function latencyCard(run) {
  const percentiles = percentilesOf(run);
  const rows = LATENCIES.map(([key, name]) => [
    element("span", {}, ...explained(name)),
    ...percentiles.map((one) => data(run[key][one], time(run[key][one]))),
  ]);
  const columns = [
    { title: "of all requests" },
    ...percentiles.map((one) => ({ title: one, right: true })),
  ];
  return element(
    "section",
    { class: "card two", id: "latency" },
    element("h2", {}, "Latency"),
    table("Latency of requests", columns, rows),
  );
}

function gpus_of(values) {
  const pools = Number(values.prefill_replicas || 1) + Number(values.decode_replicas || 1);
  const gpus = Number(values.tp) * (hasPools(values) ? pools : Number(values.replicas));
  return `${count(gpus)} ${gpus === 1 ? "GPU" : "GPUs"}`;
}

/// "620 W of 1,400 W, 1.53 J per output token"
function powerLine(run) {
  const { mean_power_w: watts, power_w: limit, joules_per_output_token: joules } = run;
  if (watts === undefined || joules === undefined) return null;
  return element(
    "p",
    { class: "small" },
    data(watts, count(watts) + " W"),
    ` of ${count(limit)} W, `,
    data(joules, joules.toPrecision(3) + " J"),
    " per output token",
  );
}

function costCard(run, values) {
  // Keys of what is not known are left out.
  const { cost_usd_per_h: hour, cost_usd_per_million_output_tokens: each } = run;
  if (hour === undefined) return card("Cost", "no price", "of this GPU is known");
  return card(
    "Cost",
    data(hour, dollars(hour) + " /h"),
    `for ${gpus_of(values)}, typical on-demand rent`,
    each === undefined
      ? null
      : element(
          "p",
          { class: "small" },
          data(each, dollars(each)),
          " per million output tokens" + (run.priced_at_load_rate ? ", at the load's rate" : ""),
        ),
    powerLine(run),
  );
}

function throughputCard(run) {
  return card(
    "Throughput",
    data(run.output_tokens_per_s, count(run.output_tokens_per_s) + " tokens/s"),
    "generated",
    element(
      "p",
      { class: "small" },
      data(run.request_rate_per_s, fixed(run.request_rate_per_s, 2)),
      " requests/s served, ",
      data(run.engine.kv_use_peak, percent(run.engine.kv_use_peak)),
      " of the KV cache at peak",
    ),
  );
}

function targetWords(target) {
  const name = `p${fixed(target.percentile, 0)} ${target.metric.toUpperCase()}`;
  const limit = time(target.limit_s).replace(/\.0+ /, " ");
  return `${name} ${time(target.achieved_s)} of ${limit}${target.met ? "" : " (missed)"}`;
}

function sentence(text) {
  // Beside a verdict on the SLO "undecided" alone would seem to be about that.
  const words = text?.replace(/^undecided: /, "whether the engine keeps up is undecided: ");
  return words ? words[0].toUpperCase() + words.slice(1) + "." : "";
}

/// "on 2 GPUs for $9.00 an hour"
function placeWords(run, values) {
  const hour = run.cost_usd_per_h;
  const price = hour === undefined ? "" : ` for ${dollars(hour)} per hour`;
  return `on ${gpus_of(values)}${price}`;
}

/// "p95 TTFT 72.4 ms of 500 ms; probability that the SLO is met: 97.3 %"
function targetsWords(run) {
  const words = run.slo.targets.map(targetWords).join("; ");
  const known = run.slo.probability;
  if (known === null || known === undefined) return words;
  return `${words}; probability that the SLO is met: ${probability(known)}`;
}

export function showVerdict(run, code, values) {
  const box = byId("verdict");
  const open = code === 0 && Boolean(run.slo?.undecided && run.slo.targets?.length);
  box.className = "verdict " + (open ? "open" : code === 0 ? "yes" : "no");
  if (!run.fits) {
    return box.replaceChildren(
      element("p", { class: "said" }, "No: the model does not fit."),
      prose("p", run.reason),
    );
  }
  const targets = run.slo.targets || [];
  const said = !targets.length
    ? code === 0
      ? `It runs ${placeWords(run, values)}; no SLO was given.`
      : run.requests_completed > 0
        ? "No: the engine does not keep up with this load."
        : "No: no request finished."
    : open
      ? `Undecided: these requests meet the SLO ${placeWords(run, values)}, but are too few to be sure.`
      : code === 0
        ? `Yes: the SLO is met ${placeWords(run, values)}.`
        : `No: the SLO is missed ${placeWords(run, values)}.`;
  box.replaceChildren(
    element("p", { class: "said" }, said),
    ...(targets.length ? [element("p", { class: "targets" }, targetsWords(run))] : []),
    element("p", { class: "small" }, sentence(run.saturation.reason)),
  );
}

/// "--tensor-parallel-size 2 --max-model-len 9600" becomes [["tp", "2"], ["max_model_len", "9600"]];
/// null if one of the flags has no control.
function controlsOf(flags) {
  const found = flags
    .split(/\s*--/)
    .filter(Boolean)
    .map((flag) => {
      const [name, value] = flag.split(/[ =]/);
      const control = MACHINE.find(([, one]) => one === name);
      return control && value ? [control[0], value] : null;
    });
  return found.length && found.every(Boolean) ? found : null;
}

/// `tried(pairs)` is called with [key, value] pairs when the reader tries a remedy.
export function showRemedies(memory, tried) {
  const items = memory.remedies.map(({ flag, effect }) => {
    const controls = controlsOf(flag);
    const button = controls
      ? element("button", { type: "button", onclick: () => tried(controls) }, `Try ${flag}`)
      : element("code", {}, flag);
    return element("li", {}, button, element("span", {}, effect));
  });
  byId("cards").replaceChildren(
    element(
      "section",
      { class: "card two" },
      element("h2", {}, "Possible changes"),
      items.length
        ? element("ul", { class: "remedies" }, ...items)
        : element("p", {}, "Use a larger GPU, more GPUs, or smaller weights."),
    ),
  );
}

export function showCards(memory, run, values) {
  byId("cards").replaceChildren(
    memoryCard(memory),
    throughputCard(run),
    costCard(run, values),
    element(
      "section",
      { class: "card two" },
      element("h2", {}, "Memory of one GPU"),
      memoryBar(memory),
    ),
    latencyCard(run),
  );
}

/// Adds intervals below the percentiles that are shown, and the probability that the SLO is met, of
/// the same run. Nothing is replaced: readers may be there by the keyboard.
export function showIntervals(run) {
  const said = document.querySelector("#verdict .targets");
  if (said) said.textContent = targetsWords(run);
  byId("notes").replaceChildren(...(run.notes || []).map((note) => prose("li", note)));
  if (!run.intervals) return;
  const cells = [...byId("latency").querySelectorAll("td")];
  for (const [key] of LATENCIES) {
    const interval = run.intervals.latencies.find(({ latency }) => latency === key);
    for (const one of percentilesOf(run)) {
      const cell = cells.shift();
      if (!interval) continue;
      const range = timeRange(interval.low[one], interval.high[one], run[key][one]);
      cell.append(element("span", { class: "interval small" }, range));
    }
  }
  byId("latency").append(intervalWords(run));
}
