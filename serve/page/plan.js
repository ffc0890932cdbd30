// The page of one deployment: controls on the left, an answer that follows them.
import { newestOf, post, Refusal } from "./api.js";
import { group } from "./controls.js";
import { data, element, prose } from "./element.js";
import { figureList } from "./figures.js";
import { fixed } from "./format.js";
import { hasPools } from "./more.js";
import { showCards, showIntervals, showRemedies, showVerdict } from "./plan_answer.js";
import { controlsOf, MORE_TITLE } from "./plan_controls.js";
import { commandLine, machineFlags, refusedField, simulationFlags } from "./questions.js";
import { startSearch } from "./search.js";
import { startTraces } from "./traces.js";

const byId = (id) => document.getElementById(id);

const SLOW = 150; // ms from which on the page shows that an answer is pending

/// Buttons of the page that do what a command does, by the command's name in an advice: their words
/// there, what pressing them does, and the button of the form.
const DONE_HERE = new Map([
  ["roofcast capacity", ["the capacity", "find it", "carry"]],
  ["roofcast plan", ["a plan", "find the cheapest deployment", "find"]],
]);

/// An advice, in which the page's own buttons stand for the commands that it names.
function adviceItem(text) {
  const parts = text.split(/(roofcast (?:capacity|plan)(?= ))/);
  const inner = parts.flatMap((part) => {
    const here = DONE_HERE.get(part);
    if (!here) return [...prose("span", part).childNodes];
    const [words, what, place] = here;
    const press = () => byId(place).click();
    const marks = { type: "button", class: "plain", "aria-label": `${words}: ${what}` };
    return [element("button", { ...marks, onclick: press }, words)];
  });
  return element("li", {}, ...inner);
}

/// What may help, if anything does.
function showAdvice(sentences) {
  const place = document.getElementById("advice");
  place.hidden = sentences.length === 0;
  place.querySelector("ul").replaceChildren(...sentences.map(adviceItem));
}

/// Marks the answer as pending: for assistive technology at once, for the eye if it takes a while.
function pending() {
  const answer = document.getElementById("answer");
  let timer = null;
  return {
    begin() {
      answer.setAttribute("aria-busy", "true");
      if (timer === null) timer = setTimeout(() => answer.classList.add("slow"), SLOW);
    },
    end() {
      clearTimeout(timer);
      timer = null;
      answer.classList.remove("slow");
      answer.removeAttribute("aria-busy");
    },
  };
}

/// `values` are the page's state; `changed()` is called when they change; `lists` are the server's
/// models, GPUs, engines and limits. Returns {show()}.
export function startPlan(values, changed, lists) {
  const { limits } = lists;
  const busy = pending();
  const showFigures = figureList(byId("figures"));
  const showCurves = figureList(byId("curves"));
  const groups = controlsOf(lists, (key, text) => {
    values[key] = text;
    if (key === "model") choose("max_model_len", ""); // it belonged to the other model
    ask(); // first: the address costs milliseconds
    changed();
  });
  function choose(key, text) {
    values[key] = text;
    for (const controls of Object.values(groups)) if (controls[key]) controls[key].set(text);
  }
  const tried = (pairs) => {
    for (const [key, text] of pairs) choose(key, text);
    changed();
    ask();
    byId("field-" + pairs[0][0]).focus(); // the pressed button disappears
  };
  for (const [title, controls] of Object.entries(groups)) {
    const fields = group(title === MORE_TITLE ? "More" : title, ...Object.values(controls));
    byId("controls").append(
      title === MORE_TITLE
        ? element("details", { class: "more" }, element("summary", {}, title), fields)
        : fields,
    );
  }
  const every = Object.assign({}, ...Object.values(groups));
  /// Marks the field of a refused value; null marks none. Returns the refusal in the form's words.
  function refusedWords(said) {
    const found = said === null ? null : refusedField(said);
    for (const [key, control] of Object.entries(every)) control.refuse(found?.key === key);
    if (!found || !every[found.key]) return said;
    // What was typed, not what became of it: sessions are asked as a rate divided by their turns.
    const typed = values[found.key];
    const why = typed ? found.why.replace(/^'[^']*'/, () => `'${typed}'`) : found.why;
    return `${every[found.key].label}: ${why}`;
  }
  const load = groups.Load;
  const traces = startTraces(lists, load, groups[MORE_TITLE], (name) => {
    choose("trace", name);
    choose("rate_scale", "");
    changed();
    ask();
  });
  load.trace.root.after(traces.root);
  const search = startSearch(values, lists, (chosen) => {
    for (const [key, text] of Object.entries(chosen)) choose(key, text);
    changed();
    ask();
    byId("verdict").scrollIntoView({ block: "nearest" });
  });
  byId("controls").addEventListener("submit", (event) => event.preventDefault());

  // 13 to 20 simulations more, with the probability of the SLO: asked for once everything else is shown.
  async function addIntervals(flags, signal) {
    try {
      const sure = await post("/api/simulate", { ...flags, intervals: true }, signal);
      showIntervals(sure.document);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error; // what is shown stays as it is
    }
    document.body.dataset.sure = String(Number(document.body.dataset.sure || 0) + 1);
  }

  let machine_memory = null; // {key, memory}: the answer does not change with the load
  async function memoryOf(machine, signal) {
    const key = JSON.stringify(machine);
    if (machine_memory?.key !== key) {
      machine_memory = { key, memory: (await post("/api/memory", machine, signal)).document };
    }
    return machine_memory.memory;
  }

  const answer = newestOf(async (flags, signal, superseded) => {
    busy.begin();
    let asks = false; // for intervals, too
    try {
      const [memory, simulation] = await Promise.all([
        memoryOf(machineFlags(values), signal),
        post("/api/simulate", flags, signal),
      ]);
      const run = simulation.document;
      refusedWords(null);
      asks = run.fits && run.workload.requests <= limits.small_load;
      // The server draws while the numbers are shown; while a slider moves there are only numbers.
      const drawing = superseded() ? null : post("/api/figures/simulate", flags, signal);
      drawing?.catch(() => {}); // awaited below
      showVerdict(run, simulation.code, values);
      if (run.fits) showCards(memory, run, values);
      else showRemedies(memory, tried);
      byId("notes").replaceChildren(...(run.notes || []).map((note) => prose("li", note)));
      showAdvice(run.advice || []);
      byId("save").disabled = byId("carry").disabled = !run.fits;
      if (drawing) {
        const { figures } = await drawing;
        showFigures(figures.filter(({ key }) => key !== "memory")); // a bar of its own
      }
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      byId("verdict").className = "verdict refused";
      byId("verdict").replaceChildren(
        element("p", { class: "said" }, "No answer"),
        element("p", {}, refusedWords(error.message)),
      );
      // Remove the older answer, so that it is not taken for this one.
      byId("cards").replaceChildren();
      byId("notes").replaceChildren();
      showAdvice([]);
      showFigures([]);
      byId("save").disabled = byId("carry").disabled = true;
    }
    if (!superseded()) busy.end();
    document.body.dataset.answered = String(Number(document.body.dataset.answered || 0) + 1);
    if (asks && !superseded()) await addIntervals(flags, signal);
  });

  /// Hides what would change nothing as the other choices are.
  function showWhatCounts() {
    const more = groups[MORE_TITLE];
    groups["Model and GPUs"].replicas.root.hidden = hasPools(values); // pools have their own
    more.think.root.hidden = values.trace !== "" || !(Number(values.turns) > 1);
    more.drafts.root.hidden = more.acceptance.root.hidden = values.speculative === "";
  }

  function ask() {
    const flags = simulationFlags(values, lists);
    busy.begin();
    answer(flags); // the rest is done while the server works
    byId("told").textContent = "";
    search.stop();
    hideCapacity();
    traces.show(values.trace);
    showWhatCounts();
    byId("line").textContent = commandLine("simulate", flags);
  }

  // Runs a button's request and shows the answer in a line next to it.
  async function tell(button, waiting, work) {
    button.disabled = true;
    byId("told").textContent = waiting;
    try {
      byId("told").replaceChildren(...(await work(simulationFlags(values, lists))));
    } catch (error) {
      byId("told").textContent = error.message;
    }
    button.disabled = false;
  }
  byId("save").addEventListener("click", () =>
    tell(byId("save"), "Saving ...", async (flags) => {
      const { run } = await post("/api/runs", flags);
      return [`Saved as run ${run}. `, element("a", { href: "#runs" }, "See all runs")];
    }),
  );
  function carriedWords(found) {
    if (!found.fits) return ["The model does not fit."];
    const promised = values.ttft !== "" || values.tpot !== "";
    const holds = promised ? "within the SLO" : "before the backlog grows (no SLO was given)";
    if (!found.capacity) return [`No load can be served ${holds}.`];
    const asked = values.trace === "" ? Number(values.request_rate) : null;
    const sure =
      found.capacity_low && found.capacity_high
        ? ` (${fixed(found.capacity_low, 2)} to ${fixed(found.capacity_high, 2)} in 80 % of cases, from the uncertainty of step times and host work)`
        : "";
    const limits = found.limits
      ? ` Binding limit: ${found.limits.binding.replaceAll("_", " ")}.`
      : "";
    return [
      found.bounded ? "" : "At least ",
      data(found.capacity, fixed(found.capacity, 2)),
      ` requests/s ${holds}${sure}${asked === null ? "" : `: ${fixed(found.capacity / asked, 2)} times the requested ${fixed(asked, 2)}`}.${limits}`,
    ];
  }

  const carry = newestOf(async (flags, signal) => {
    byId("capacity").hidden = false;
    byId("carried").textContent = "Searching ...";
    byId("carried").scrollIntoView({ block: "nearest" });
    try {
      const found = await post("/api/figures/capacity", flags, signal);
      byId("carried").replaceChildren(...carriedWords(found.document));
      showCurves(found.figures || []);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      byId("carried").textContent = error.message;
    }
  });
  function hideCapacity() {
    carry.give_up();
    byId("capacity").hidden = true;
    showCurves([]);
  }
  byId("carry").addEventListener("click", () => {
    const flags = simulationFlags(values, lists);
    delete flags["num-prompts"]; // as many as the search needs
    carry(flags);
  });
  if (!limits.saves) {
    byId("save").hidden = true;
    byId("save").after(element("span", { class: "small" }, "The store is read-only."));
  }
  byId("copy").addEventListener("click", async () => {
    await navigator.clipboard.writeText(byId("line").textContent);
    byId("copy").textContent = "Copied";
    setTimeout(() => (byId("copy").textContent = "Copy"), 1500);
  });

  return {
    show() {
      for (const controls of Object.values(groups)) {
        for (const [key, control] of Object.entries(controls)) control.set(values[key]);
      }
      ask();
    },
  };
}
