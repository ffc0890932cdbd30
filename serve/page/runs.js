// The runs of the store, and a comparison of two.
import { get, post } from "./api.js";
import { data, element, table, twoStep } from "./element.js";
import { figureList } from "./figures.js";
import { valuesOf } from "./questions.js";
import { changeWords, shareWords } from "./search.js";
import { address, DEFAULTS } from "./state.js";

const byId = (id) => document.getElementById(id);
const SHOWN = /^(mean|p[0-9.]+|value)$/; // statistics

/// Whether the SLO is met first, then what is judged.
function rankOf({ name, more_is_better: moreIsBetter }) {
  if (name === "slo_met") return 0;
  return moreIsBetter === null ? 2 : 1;
}

/// "+12.3 % (worse)" of a figure of which less or more is better, with a bar.
function change(moreIsBetter, share) {
  const words = moreIsBetter === null ? shareWords(share) : changeWords(moreIsBetter, share);
  const width = Math.min(100, Math.abs(share) * 100);
  const kind = /better/.test(words) ? "better" : /worse/.test(words) ? "worse" : "neither";
  return element(
    "span",
    { class: "change" },
    words,
    element("i", { class: kind, style: `width: ${width}%`, "aria-hidden": "true" }),
  );
}

/// The form's address with the run's question; null if it asks for more than the form holds.
function addressOf(run, lists) {
  const opens = ["simulate", "capacity"].includes(run.kind);
  const values = opens ? valuesOf(run.command_line, lists) : null;
  return values && address("plan", { ...DEFAULTS, ...values });
}

/// The last cell of a metric's row. Whether the SLO is met has no share.
function changeCell({ name, a, b, relative_change: share, more_is_better: moreIsBetter }) {
  if (name === "slo_met") return a === b ? "" : b > a ? "better" : "worse";
  return share === null ? "" : data(share, change(moreIsBetter, share));
}

function comparisonOf(found, nameOf) {
  const name = (run) => nameOf(run.id);
  const line = (run) => `${name(run)}: ${run.model} on ${run.gpu}, ${run.summary}`;
  const columns = [
    { title: "Metric" },
    { title: name(found.a), right: true },
    { title: name(found.b), right: true },
    { title: "Change", right: true },
  ];
  const rows = found.metrics
    .filter((metric) => SHOWN.test(metric.statistic) && (metric.a !== 0 || metric.b !== 0))
    .sort((one, other) => rankOf(one) - rankOf(other))
    .map((metric) => [
      metric.title,
      data(metric.a, metric.texts[0]),
      data(metric.b, metric.texts[1]),
      changeCell(metric),
    ]);
  return [
    element("p", {}, line(found.a)),
    element("p", {}, line(found.b)),
    table("Metrics of both runs, and the change from the first to the second", columns, rows),
  ];
}

/// `lists` are the server's limits and traces.
export function startRuns(lists) {
  const { limits } = lists;
  const chosen = new Set();
  const button = byId("compare");
  const names = new Map(); // by id, of runs that have one
  const showFigures = figureList(byId("comparison-figures"));
  const nameOf = (id) => (names.get(id) ? `Run ${id} (${names.get(id)})` : `Run ${id}`);

  /// Changes the store, then shows it again; `words` say what was done.
  async function change(path, question, words) {
    try {
      await post(path, question);
      await page.show();
      byId("runs-told").textContent = words;
    } catch (error) {
      byId("runs-told").textContent = error.message;
    }
  }

  /// The table stays as it is: the reader is in it, perhaps by the keyboard, and has chosen runs.
  async function nameRun(id, name) {
    try {
      await post("/api/runs/name", { id, name });
      if (name) names.set(id, name);
      else names.delete(id);
      byId("runs-told").textContent = name
        ? `Run ${id} is named ${name}.`
        : `Run ${id} no longer has a name.`;
    } catch (error) {
      byId("runs-told").textContent = error.message;
    }
  }

  function nameField(run) {
    const field = element("input", {
      type: "text",
      maxlength: 80,
      value: run.name,
      placeholder: "no name",
      "aria-label": `Name of run ${run.id}`,
    });
    field.addEventListener("change", () => nameRun(run.id, field.value.trim()));
    return field;
  }

  function deleteButton(run) {
    return twoStep(
      { class: "plain" },
      () => ["Delete", `Delete run ${run.id}`],
      () => ["Delete for good?", `Delete run ${run.id} for good?`],
      () => change("/api/runs/delete", { id: run.id }, `Run ${run.id} is deleted.`),
    );
  }

  function rowOf(run) {
    const box = element("input", { type: "checkbox", "aria-label": `Choose run ${run.id}` });
    box.addEventListener("change", () => {
      if (box.checked) chosen.add(run.id);
      else chosen.delete(run.id);
      button.disabled = chosen.size !== 2;
    });
    return [
      element("label", { class: "pick" }, box, ` ${run.id}`),
      limits.saves ? nameField(run) : run.name,
      element("span", { class: "time" }, run.created_at.replace("T", " ").replace("Z", "")),
      run.kind_title,
      run.model,
      run.gpu,
      run.engine,
      run.summary,
      element(
        "span",
        {},
        element(
          "a",
          { href: `/report/${run.id}`, "aria-label": `Report of run ${run.id}` },
          "Report",
        ),
        " ",
        addressOf(run, lists) &&
          element("a", { href: addressOf(run, lists), "aria-label": `Open run ${run.id}` }, "Open"),
        limits.saves ? " " : "",
        limits.saves ? deleteButton(run) : "",
      ),
    ];
  }

  button.addEventListener("click", async () => {
    try {
      const ids = [...chosen].sort((a, b) => a - b);
      const { document: found, figures } = await post("/api/figures/compare", { runs: ids });
      byId("compared").hidden = false;
      byId("comparison").replaceChildren(...comparisonOf(found, nameOf));
      showFigures(figures);
      byId("title-compared").scrollIntoView({ block: "start" });
    } catch (error) {
      byId("compared").hidden = false;
      byId("comparison").replaceChildren(element("p", {}, error.message));
      showFigures([]);
    }
  });

  const page = {
    async show() {
      chosen.clear();
      button.disabled = true;
      byId("compared").hidden = true;
      showFigures([]);
      const titles = ["Run", "Name", "Time (UTC)", "Kind", "Model", "GPU", "Engine", "Result", "More"];
      const columns = titles.map((title) => ({ title }));
      try {
        const { runs, runs_total: total } = await get("/api/runs");
        names.clear();
        for (const run of runs) if (run.name) names.set(run.id, run.name);
        byId("runs-told").textContent =
          total === 0
            ? "None yet: save one on the Deployment page."
            : total > runs.length
              ? `The newest ${runs.length} of ${total}.`
              : "";
        byId("runs").replaceChildren(
          ...(runs.length ? [table("Runs, newest first", columns, runs.map(rowOf))] : []),
        );
      } catch (error) {
        byId("runs-told").textContent = error.message;
      }
    },
  };
  return page;
}
