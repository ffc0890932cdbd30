// The lesson: guess how much longer the loop without a KV cache takes, then see.
import { newestOf, post, Refusal } from "./api.js";
import { group, slider } from "./controls.js";
import { data, element } from "./element.js";
import { figureList } from "./figures.js";
import { count, fixed, time } from "./format.js";
import { staircaseFlags } from "./questions.js";

const byId = (id) => document.getElementById(id);

function verdictOn(guess, truth) {
  const off = Math.max(guess / truth, truth / guess);
  if (off < 1.15) return "Very close.";
  if (off < 1.6) return "Not far off.";
  return guess > truth ? "Less than you guessed." : "More than you guessed.";
}

// Explains why the ratio of times is not the ratio of work.
function explanation(found) {
  const waste = found.waste_factor;
  const ratio = found.naive_total_s / found.cached_total_s;
  if (waste / ratio < 2) return "The repeated work is what takes the time.";
  return `The loop without a cache computes ${count(waste)} times as many keys and values, but a short step takes as long as reading the weights, however little it computes. The difference grows with longer prompts and answers.`;
}

export function startStaircase(values, changed) {
  const showFigures = figureList(byId("lesson-figures"));
  let guessed = "3";
  const edited = (key, text) => {
    values[key] = text;
    changed();
    hide();
  };
  const controls = {
    prompt: slider(
      { key: "prompt", label: "Prompt", unit: "tokens", low: 16, high: 16384, log: true, least: 1 },
      edited,
    ),
    generate: slider(
      { key: "generate", label: "Answer", unit: "tokens", low: 2, high: 4096, log: true, least: 2 },
      edited,
    ),
  };
  byId("lesson").append(
    group("One sequence", controls.prompt, controls.generate),
    element("p", { class: "small", id: "lesson-on" }),
  );
  byId("lesson").addEventListener("submit", (event) => event.preventDefault());
  const guess = slider(
    {
      key: "guess",
      label: "Without a cache, generation takes",
      unit: "times as long",
      low: 1,
      high: 200,
      log: true,
      least: 1,
    },
    (_, text) => (guessed = text),
  );
  guess.set(guessed);
  byId("guess-control").append(guess.root);

  function hide() {
    reveal.give_up();
    byId("lesson-answer").hidden = true;
    showFigures([]);
    byId("lesson-on").textContent =
      `On ${values.model}, ${values.gpu}, as chosen on the Deployment page.`;
  }

  const reveal = newestOf(async (flags, signal) => {
    const box = byId("lesson-answer");
    box.hidden = false;
    try {
      const [{ document: found }, { figures }] = await Promise.all([
        post("/api/staircase", flags, signal),
        post("/api/figures/staircase", flags, signal),
      ]);
      const ratio = found.naive_total_s / found.cached_total_s;
      box.className = "verdict yes";
      box.replaceChildren(
        element(
          "h2",
          { class: "said" },
          data(ratio, fixed(ratio, 1)),
          ` times as long. You guessed ${guessed}. ${verdictOn(Number(guessed), ratio)}`,
        ),
        element(
          "p",
          {},
          "Without a cache ",
          data(found.naive_total_s, time(found.naive_total_s)),
          ", with one ",
          data(found.cached_total_s, time(found.cached_total_s)),
          " for the whole answer.",
        ),
        element("p", {}, explanation(found)),
      );
      showFigures(figures);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      box.className = "verdict refused";
      box.replaceChildren(
        element("p", { class: "said" }, "No answer"),
        element("p", {}, error.message),
      );
    }
  }, 0);
  byId("guess").addEventListener("submit", (event) => {
    event.preventDefault();
    reveal(staircaseFlags(values));
  });

  return {
    show() {
      controls.prompt.set(values.prompt);
      controls.generate.set(values.generate);
      hide();
    },
  };
}
