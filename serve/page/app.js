// The page as a whole: the address selects the part that is shown.
import { startPlan } from "./plan.js";
import { startRuns } from "./runs.js";
import { startStaircase } from "./staircase.js";
import { address, read, write } from "./state.js";
import { startTheme } from "./theme.js";

const TITLES = { plan: "Deployment", staircase: "The staircase", runs: "Runs" };

async function start() {
  startTheme(document.getElementById("theme"));
  const { values } = read();
  let page = "";
  const changed = () => {
    write(page, values);
    point();
  };
  const point = () => {
    for (const link of document.querySelectorAll("nav a")) {
      link.setAttribute("href", address(link.dataset.page, values));
      if (link.dataset.page === page) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
  };
  const pages = {
    plan: await startPlan(values, changed),
    staircase: startStaircase(values, changed),
    runs: startRuns(),
  };
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
