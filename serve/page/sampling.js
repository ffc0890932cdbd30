// A playground for temperature, top-k and top-p: the server computes, the chart follows.
import { newestOf, post, Refusal } from "./api.js";
import { group, slider } from "./controls.js";
import { figureList } from "./figures.js";

const byId = (id) => document.getElementById(id);

/// Returns {show(whether)}.
export function startSampling() {
  const showFigures = figureList(byId("sampling-figures"));
  const values = { temperature: "1", top_k: "", top_p: "1" };
  const ask = newestOf(async (flags, signal) => {
    try {
      showFigures((await post("/api/figures/sampling", flags, signal)).figures);
      byId("sampling-refused").textContent = "";
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      byId("sampling-refused").textContent = error.message;
    }
  });
  const edited = (key, text) => {
    values[key] = text;
    ask(Object.fromEntries(Object.entries(values).filter(([, value]) => value !== "")));
  };
  const controls = {
    temperature: slider(
      { key: "temperature", label: "Temperature", low: 0, high: 2, step: 0.05 },
      edited,
    ),
    top_k: slider(
      {
        key: "top_k",
        label: "Top-k",
        unit: "words",
        choices: [1, 2, 3, 4, 5, 6, 7, 8],
        optional: "all",
      },
      edited,
    ),
    top_p: slider({ key: "top_p", label: "Top-p", low: 0.05, high: 1, step: 0.05 }, edited),
  };
  byId("sampling-controls").append(group("Try it", ...Object.values(controls)));
  for (const [key, control] of Object.entries(controls)) control.set(values[key]);
  return {
    show(whether) {
      byId("sampling").hidden = !whether;
      if (whether) edited("temperature", values.temperature);
      else ask.give_up();
    },
  };
}
