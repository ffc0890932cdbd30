// The page as a whole: the address selects the part that is shown.
import { get } from "./api.js";
import { showTerms, startGlossary } from "./glossary.js";
import { startLesson } from "./lesson.js";
import { startPlan } from "./plan.js";
import { startRuns } from "./runs.js";
import { address, read, write } from "./state.js";
import { startTheme } from "./theme.js";

const TITLES = { plan: "Deployment", learn: "Learn", runs: "Runs", glossary: "Glossary" };

async function fetchLists() {
  const names = ["models", "gpus", "engines", "limits", "glossary"];
  const [traces, models, gpus, engines, limits, glossary] = await Promise.all([
    get("/api/traces").catch((error) => ({ traces: [], unread: error.message })),
    ...names.map((what) => get("/api/" + what)),
  ]);
  return {
    models: models.models,
    gpus: gpus.gpus,
    engines: engines.engines,
    limits,
    terms: glossary.terms,
    traces: traces.traces,
    unread: traces.unread, // why there are none; a locked store does not hide the page
  };
}

async function start() {
  startTheme(document.getElementById("theme"));
  const { values } = read();
  let page = "";
  const changed = () => {
    write(page, values);
    point();
  };
  const point = () => {
    for (const link of document.querySelectorAll("a[data-page]")) {
      link.setAttribute("href", address(link.dataset.page, values));
      if (link.dataset.page === page) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
  };
  const lists = await fetchLists();
  const glossary = startGlossary(values, lists.terms);
  const pages = {
    plan: startPlan(values, changed, lists),
    learn: startLesson(values, changed, lists),
    runs: startRuns(lists),
    glossary,
  };
  showTerms(document.getElementById("main")); // of the headings
  const open = () => {
    const now = read();
    Object.assign(values, now.values);
    page = now.page;
    for (const name of Object.keys(pages))
      document.getElementById("page-" + name).hidden = name !== page;
    document.title = `${TITLES[page]} · Roofcast`;
    point();
    pages[page].show();
  };
  addEventListener("hashchange", open);
  open();
}

start().catch((error) => {
  const verdict = document.getElementById("verdict");
  document.getElementById("page-plan").hidden = false;
  verdict.className = "verdict refused";
  verdict.textContent = error.message;
});
