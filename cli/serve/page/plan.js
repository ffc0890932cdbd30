// The page of one deployment: controls on the left, the answer as they move.
import { get, newestOf, post, Refusal } from "./api.js";
import { group } from "./controls.js";
import { data, element } from "./element.js";
import { figureList } from "./figures.js";
import { fixed } from "./format.js";
import { showCards, showRemedies, showVerdict } from "./plan_answer.js";
import { controlsOf } from "./plan_controls.js";
import { commandLine, machineFlags, simulationFlags } from "./questions.js";

const byId = (id) => document.getElementById(id);

/// `values` are the page's state; `changed()` is told when they change. Returns {show()}.
export async function startPlan(values, changed) {
  const [models, gpus, engines, limits] = await Promise.all(
    ["models", "gpus", "engines", "limits"].map((what) => get("/api/" + what)),
  );
  const lists = { models: models.models, gpus: gpus.gpus, engines: engines.engines, limits };
  const showFigures = figureList(byId("figures"));
  const groups = controlsOf(lists, (key, text) => {
    values[key] = text;
    changed();
    ask();
  });
  for (const [title, controls] of Object.entries(groups)) {
    byId("controls").append(group(title, ...Object.values(controls)));
  }
  byId("controls").addEventListener("submit", (event) => event.preventDefault());

  const answer = newestOf(async (flags, signal) => {
    document.body.classList.add("asking");
    try {
      const machine = machineFlags(values);
      const [memory, simulation] = await Promise.all([
        post("/api/memory", machine, signal),
        post("/api/simulate", flags, signal),
      ]);
      const run = simulation.document;
      showVerdict(run, simulation.code);
      if (run.fits) showCards(memory.document, run, values);
      else showRemedies(memory.document);
      byId("notes").replaceChildren(...(run.notes || []).map((note) => element("li", {}, note)));
      byId("save").disabled = byId("carry").disabled = !run.fits;
      showFigures((await post("/api/figures/simulate", flags, signal)).figures); // numbers come first
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      byId("verdict").className = "verdict refused";
      byId("verdict").replaceChildren(
        element("p", { class: "said" }, "No answer"),
        element("p", {}, error.message),
      );
      // Nothing of an older answer stays as if it were this one's.
      byId("cards").replaceChildren();
      byId("notes").replaceChildren();
      showFigures([]);
      byId("save").disabled = byId("carry").disabled = true;
    }
    document.body.classList.remove("asking");
    document.body.dataset.answered = String(Number(document.body.dataset.answered || 0) + 1);
  });

  function ask() {
    byId("told").textContent = "";
    const flags = simulationFlags(values);
    byId("line").textContent = commandLine("simulate", flags);
    answer(flags);
  }

  // What a button asks; its answer in a line beside it.
  async function tell(button, waiting, work) {
    button.disabled = true;
    byId("told").textContent = waiting;
    try {
      byId("told").replaceChildren(...(await work(simulationFlags(values))));
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
  byId("carry").addEventListener("click", () =>
    tell(byId("carry"), "Searching ...", async (flags) => {
      const asked = { ...flags };
      delete asked["num-prompts"];
      const { document: found } = await post("/api/capacity", asked);
      if (!found.holds && !found.capacity) return ["It holds the SLO at no load."];
      const limits = found.limits
        ? ` What ends it: ${found.limits.binding.replaceAll("_", " ")}.`
        : "";
      return [
        data(found.capacity, fixed(found.capacity, 2)),
        ` requests/s within the SLO (${fixed(found.capacity_low, 2)} to ${fixed(found.capacity_high, 2)} as far as the model is sure).${limits}`,
      ];
    }),
  );
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
