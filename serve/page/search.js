// Questions that take a while: the cheapest deployment, the capacity of several GPUs, and what a
// change would do. One at a time, with the time it has taken and a way to stop it.
import { post, progressOf, Refusal } from "./api.js";
import { data, element, prose, table } from "./element.js";
import { amount, count, fixed, percent, probability, time } from "./format.js";
import { hasPools } from "./more.js";
import { commandLine, simulationFlags } from "./questions.js";
import { DEFAULTS } from "./state.js";

const byId = (id) => document.getElementById(id);

const MANY = 3; // a share from which on a factor is easier to read

/// "+35.2 %", "446 times"
export function shareWords(share) {
  if (share > MANY) return `${fixed(1 + share, share > 10 ? 0 : 1)} times`;
  return (share > 0 ? "+" : "") + percent(share);
}

/// "+35.2 % (worse)"; `moreIsBetter` as answers have it, null where neither more nor less is.
export function changeWords(moreIsBetter, share, significant = true) {
  if (!significant || Math.abs(share) < 0.0005) return "no clear difference";
  if (moreIsBetter === null) return shareWords(share);
  return `${shareWords(share)} (${moreIsBetter === share > 0 ? "better" : "worse"})`;
}

const TICK = 500; // ms between looks at the progress

/// "12 of 40 simulations, 3 s": `far` is what progressOf() gives.
function progressWords(far, elapsed) {
  const done = far.total ? `${count(far.done)} of ${count(far.total)} ${far.what}, ` : "";
  return `${done}${count(elapsed)} s`;
}

/// The load of the form; as many requests as verdicts need, unless the reader chose a number. The
/// program does not lengthen a load of sessions: their number stays.
function searchedFlags(values, lists) {
  const flags = simulationFlags(values, lists);
  if (values.num_prompts === DEFAULTS.num_prompts && !flags.turns) delete flags["num-prompts"];
  return flags;
}

const FEW_REQUESTS = 500; // with which a search takes seconds

/// The beginning of the load in `flags`; null if it is no longer than that.
function shortened(flags, requests) {
  if (flags.trace) {
    if (Number(flags["max-requests"] || requests) <= FEW_REQUESTS) return null;
    return { ...flags, "max-requests": String(FEW_REQUESTS) };
  }
  const arrivals = Math.max(1, Math.floor(FEW_REQUESTS / Number(flags.turns || 1)));
  if (Number(flags["num-prompts"] || Infinity) <= arrivals) return null;
  return { ...flags, "num-prompts": String(arrivals) };
}

const TOO_LATE = 504; // the server's limit of time for one question

// ---- the cheapest deployment

const PLAN_COLUMNS = [
  { title: "Deployment" },
  { title: "In the form" },
  { title: "GPUs", right: true },
  { title: "$/h", right: true },
  { title: "$/M output", right: true },
  { title: "P(SLO met)", right: true },
  { title: "Breaks at", right: true },
  { title: "Step times" },
];

/// `ranked.deployment` is one unit's: all of them have its pools' replicas that many times.
function valuesOf({ deployment, units }) {
  const pools = deployment.cluster.pools;
  const of = (role) => pools.find((pool) => pool.role === role);
  const replicas = (pool) => (pool ? String(pool.replicas * units) : "");
  return {
    gpu: deployment.gpu,
    tp: String(deployment.parallel.tensor),
    replicas: replicas(of("both")) || "1",
    prefill_replicas: replicas(of("prefill")),
    decode_replicas: replicas(of("decode")),
  };
}

/// What the form cannot hold: pipeline and data parallelism, and prompts divided over ranks.
function fitsForm({ parallel }) {
  return parallel.pipeline === 1 && parallel.data === 1 && (parallel.context ?? 1) === 1;
}

const KNOWN_BY = ["extended", "fitted", "datasheet"];

/// How step times are known, as the program says it: "measured 71 %, ±8 %".
function sourceWords({ step_sources: sources, step_relative_uncertainty: deviation }) {
  const parts = [
    ["measured", sources.measured + sources.interpolated],
    ...KNOWN_BY.map((word) => [word, sources[word]]),
  ];
  const [word, share] = parts.reduce((most, part) => (part[1] > most[1] ? part : most));
  if (!share) return "";
  const whole = share >= 0.995 ? "" : ` ${percent(share, 0)}`;
  return `${word}${whole}, ±${percent(deviation, 0)}`;
}

function planRow(ranked, use) {
  const price = ranked.cost_usd_per_h; // unknown costs are left out
  const each = ranked.cost_usd_per_million_output_tokens;
  return [
    ranked.title,
    fitsForm(ranked.deployment)
      ? element(
          "button",
          { type: "button", onclick: () => use(valuesOf(ranked)) },
          "Use it",
        )
      : "",
    data(ranked.gpus, count(ranked.gpus)),
    price == null ? "" : data(price, amount(price)),
    each == null ? "" : data(each, amount(each)),
    ranked.probability == null
      ? ""
      : data(ranked.probability, probability(ranked.probability)),
    ranked.capacity_factor == null
      ? ""
      : data(ranked.capacity_factor, fixed(ranked.capacity_factor, 2) + "x"),
    sourceWords(ranked.result),
  ];
}

const spoken = (key) => key.replaceAll("_", " ");

/// What was searched, and why the nearest of the others are not in the answer.
function searched(found) {
  const outcomes = Object.entries(found.shapes).map(
    ([outcome, shapes]) => `${count(shapes)} ${spoken(outcome)}`,
  );
  const parts = [
    element(
      "p",
      {},
      `${count(found.candidates)} candidates, ${count(found.simulations)} simulations, ` +
        `${count(found.finalist_simulations)} more for probabilities and breaking points. ` +
        `By shape: ${outcomes.join(", ")}.`,
    ),
  ];
  if (found.rejected.length) {
    const columns = [
      { title: "Shape" },
      { title: "Replicas", right: true },
      { title: "TTFT p95", right: true },
      { title: "TPOT p95", right: true },
      { title: "Outcome" },
      { title: "Why" },
    ];
    const latency = (result, key) =>
      result ? data(result[key], time(result[key])) : "not simulated";
    const rows = found.rejected.map(({ shape, units, result, outcome, why }) => [
      shape.name,
      units == null ? "" : data(units, count(units)),
      latency(result, "ttft_p95_s"),
      latency(result, "tpot_p95_s"),
      spoken(outcome),
      prose("span", why || ""),
    ]);
    parts.push(table("The nearest of those that are not in the answer", columns, rows));
  }
  return element("details", {}, element("summary", {}, "How it was searched"), ...parts);
}

/// What is routed to a pool of a mix.
function routed({ classes, min_input_len: least, max_input_len: most }) {
  if (classes) return classes.join(", ");
  if (most == null) return `prompts from ${count(least)} tokens on`;
  if (!least) return `prompts of up to ${count(most)} tokens`;
  return `prompts of ${count(least)} to ${count(most)} tokens`;
}

function mixed(mix) {
  const columns = [
    { title: "Pool" },
    { title: "GPUs", right: true },
    { title: "Requests" },
    { title: "Share", right: true },
    { title: "TTFT p95", right: true },
    { title: "TPOT p95", right: true },
  ];
  const rows = mix.pools.map((pool) => [
    pool.title,
    data(pool.gpus, count(pool.gpus)),
    routed(pool),
    data(pool.share, percent(pool.share)),
    data(pool.ttft_p95_s, time(pool.ttft_p95_s)),
    data(pool.tpot_p95_s, time(pool.tpot_p95_s)),
  ]);
  return [table("The mix of pools behind a router", columns, rows)];
}

function planned(found, use) {
  // The deployment in bold; price, probability and breaking point below it.
  const [deployment, ...rest] = found.answer_parts;
  const parts = [element("p", { class: "said" }, deployment)];
  const more = rest.length ? [rest.join("; ") + "."] : [];
  for (const line of [...more, ...(found.remarks || [])]) {
    parts.push(prose("p", line.charAt(0).toUpperCase() + line.slice(1)));
  }
  if (found.mixed) parts.push(...mixed(found.mixed));
  if (found.ranked.length) {
    parts.push(
      table(
        found.mixed
          ? "Of one kind: deployments that meet the SLO, the best first"
          : "Deployments that meet the SLO, the best first",
        PLAN_COLUMNS,
        found.ranked.map((ranked) => planRow(ranked, use)),
      ),
    );
    const launch = found.ranked[0].launch || [];
    parts.push(
      element(
        "h3",
        {},
        found.mixed ? "How to start the first of one kind" : "How to start the first",
      ),
      element("pre", { tabindex: "0", "aria-label": "Launch command" }, launch.join("\n")),
    );
  }
  parts.push(searched(found));
  return parts;
}

// ---- what if

function settingWords(variant) {
  if (variant.is_baseline) return "as it is";
  return Object.entries(variant.settings)
    .map(([key, value]) => `${key} = ${value}`)
    .join(", ");
}

function compared(found) {
  const baseline = found.variants.find((variant) => variant.is_baseline);
  const columns = [
    { title: "Variant" },
    ...baseline.metrics.map(({ title }) => ({ title, right: true })),
    { title: found.verdict_title },
    { title: "$/h", right: true },
    { title: "$/M output", right: true },
  ];
  const rows = found.variants.map((variant) => {
    if (variant.reason) {
      const reason = prose("span", variant.reason);
      return [settingWords(variant), ...baseline.metrics.map(() => ""), reason, "", ""];
    }
    const cells = variant.metrics.map((metric, index) => {
      if (metric.grows) return metric.text;
      if (variant.is_baseline) return data(metric.value, metric.text);
      const before = baseline.metrics[index].value;
      const words = before && !baseline.metrics[index].grows
        ? changeWords(metric.more_is_better, metric.difference / before, metric.significant)
        : "";
      return element(
        "span",
        {},
        data(metric.value, metric.text),
        element("span", { class: "interval" }, words),
      );
    });
    const price = variant.cost_usd_per_h;
    const each = variant.cost_usd_per_million_output_tokens;
    return [
      settingWords(variant),
      ...cells,
      variant.verdict,
      price == null ? "" : data(price, amount(price)),
      each == null ? "" : data(each, amount(each)),
    ];
  });
  const parts = [table("Variants beside the deployment as it is", columns, rows)];
  if (baseline.runs > 1 && found.interval === "seeds") {
    const means =
      `Means over ${count(baseline.runs)} seeds, the first of which is the load above, ` +
      "the same for every variant.";
    parts.push(element("p", { class: "small" }, means));
  }
  return parts;
}

// ---- capacity of several

const CAPACITY_COLUMNS = [
  { title: "GPUs" },
  { title: "Capacity", right: true },
  { title: "Output tokens/s", right: true },
  { title: "$/M tokens", right: true },
  { title: "$/h", right: true },
  { title: "Step times" },
  { title: "Remark" },
];

const UNITS = { rate_per_s: "requests/s", concurrency: "in flight" };

function carried(found) {
  const rows = found.rows.map((row) => {
    const each = row.cost_usd_per_million_tokens;
    const price = row.cost_usd_per_h;
    const none = row.capacity == null;
    return [
      row.title,
      none
        ? "none"
        : element(
            "span",
            {},
            row.bounded ? "" : "at least ",
            data(row.capacity, fixed(row.capacity, 2)),
            " " + (UNITS[row.load] || ""),
          ),
      none ? "" : data(row.output_tokens_per_s, count(row.output_tokens_per_s)),
      each == null ? "" : data(each, amount(each)),
      price == null ? "" : data(price, amount(price)),
      none ? "" : sourceWords(row),
      prose("span", row.reason || ""),
    ];
  });
  return [
    table("Capacity within the SLO, the cheapest tokens first", CAPACITY_COLUMNS, rows),
    element(
      "p",
      { class: "small" },
      "Tokens: of prompts and answers. All figures are those at the capacity of each.",
    ),
  ];
}

// ---- all of them

/// `values` are the page's state, `lists` the server's limits and traces; `use(values)` puts a
/// deployment into the form. Returns {stop()}: gives up what is under way and hides older answers.
export function startSearch(values, lists, use) {
  let under_way = null;
  let ticking = null;

  function told(text) {
    byId("search-told").textContent = text;
  }

  function stop() {
    if (under_way) under_way.abort();
    under_way = null;
    clearInterval(ticking);
    byId("search-stop").hidden = true;
    byId("search-progress").hidden = true;
    byId("search-count").textContent = "";
  }

  async function run(command, flags, show) {
    stop();
    const own = new AbortController();
    const began = performance.now();
    under_way = own;
    const watched = crypto.randomUUID ? crypto.randomUUID() : `q-${Math.random()}`.replace(".", "");
    const bar = byId("search-progress");
    ticking = setInterval(async () => {
      const far = await progressOf(watched).catch(() => ({})); // the answer says what is wrong
      if (under_way !== own) return;
      byId("search-count").textContent = progressWords(far, (performance.now() - began) / 1000);
      if (far.total) Object.assign(bar, { max: far.total, value: far.done });
    }, TICK);
    told("Simulating ...");
    bar.removeAttribute("value"); // not known yet
    bar.hidden = false;
    byId("search-stop").hidden = false;
    byId("search-answer").replaceChildren();
    const ask = async (asked) => {
      byId("search-line").textContent = commandLine(command, asked);
      byId("search-line").hidden = false;
      byId("search-line").scrollIntoView({ block: "nearest" });
      return (await post(`/api/${command}`, asked, own.signal, watched)).document;
    };
    try {
      let part = "";
      const found = await ask(flags).catch((error) => {
        const kept = lists.traces.find(({ name }) => name === flags.trace);
        const fewer = error.status === TOO_LATE ? shortened(flags, kept?.requests) : null;
        if (!fewer || under_way !== own) throw error;
        part =
          " All of it takes longer than this server allows: only the first " +
          `${FEW_REQUESTS} requests were simulated, and a longer run may give another answer. ` +
          "The command line has no limit of time.";
        told("All of it takes too long: simulating its first part ...");
        return ask(fewer);
      });
      if (under_way !== own) return;
      byId("search-answer").replaceChildren(...show(found));
      told(`Answered in ${time((performance.now() - began) / 1000)}.${part}`);
    } catch (error) {
      if (under_way !== own) return;
      if (!(error instanceof Refusal)) throw error;
      told(error.message);
    } finally {
      if (under_way === own) stop();
    }
  }

  const candidates = () => byId("field-candidates").value.replaceAll(/\s/g, "");

  byId("search-stop").addEventListener("click", () => {
    stop();
    told("Stopped.");
  });
  byId("find").addEventListener("click", () => {
    const flags = searchedFlags(values, lists);
    for (const name of ["tensor-parallel-size", "replicas", "prefill-replicas"]) delete flags[name];
    for (const name of ["decode-replicas", "router"]) delete flags[name];
    if (!flags.slo) return told("Set a limit under SLO first: what is cheapest depends on it.");
    flags.gpu = candidates() || values.gpu;
    if (byId("field-mix").checked) flags.mix = true;
    const prices = byId("field-prices").value.split(/[\s,]+/).filter(Boolean);
    if (prices.length) flags.price = [prices.join(",")];
    run("plan", flags, (found) => planned(found, use));
  });
  byId("several").addEventListener("click", () => {
    const flags = searchedFlags(values, lists);
    flags.gpu = candidates();
    if (flags.gpu !== "any" && !flags.gpu.includes(",")) {
      return told("Name the GPUs to compare, such as h100,l40s, or any.");
    }
    run("capacity", flags, carried);
  });
  byId("try").addEventListener("click", () => {
    const vary = byId("field-vary").value.trim().split(/\s+/).filter(Boolean);
    if (!vary.length) return told("Say what to vary, such as gpu=l40s,a100.");
    const flags = { ...searchedFlags(values, lists), vary };
    run("whatif", flags, compared);
  });
  byId("search").addEventListener("submit", (event) => event.preventDefault());
  return {
    stop() {
      stop();
      told("");
      byId("search-line").hidden = true;
      byId("search-answer").replaceChildren();
      byId("field-vary").placeholder = hasPools(values)
        ? "decode_replicas=+1"
        : "gpu=l40s,a100  or  replicas=+1  or  pools=1:3,2:2";
    },
  };
}
