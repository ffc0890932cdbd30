// The lesson: one step at a time, each guessed before it is told. Texts, truths and grades are the
// server's.
import { newestOf, post, Refusal } from "./api.js";
import { choice, group, slider } from "./controls.js";
import { element, prose } from "./element.js";
import { figureList } from "./figures.js";
import { explained } from "./glossary.js";
import { guessForm } from "./guess.js";
import { lessonFlags } from "./questions.js";
import { startSampling } from "./sampling.js";
import { address } from "./state.js";

const byId = (id) => document.getElementById(id);
const TEACH_BACK = "teach-back";

/// The class of a grade: green only for what was guessed well.
const LOOKS = {
  right: "yes",
  very_close: "yes",
  not_far_off: "near",
  off: "no",
  wrong: "no",
};

function controlsOf(values, lists, edited) {
  const pick = (key, label, options) =>
    choice({ key: "learn-" + key, label }, options, (_, text) => edited(key, text));
  const length = (key, label, least) =>
    slider({ key, label, unit: "tokens", low: 16, high: 4096, log: true, least }, edited);
  return {
    model: pick(
      "model",
      "Model",
      lists.models.map(({ name }) => [name, name]),
    ),
    gpu: pick(
      "gpu",
      "GPU",
      lists.gpus.map((gpu) => [gpu.name, gpu.display_name]),
    ),
    prompt: length("prompt", "Prompt", 1),
    generate: length("generate", "Answer", 2),
  };
}

/// Returns {show()}.
export function startLesson(values, changed, lists) {
  const showFigures = figureList(byId("lesson-figures"));
  const sampling = startSampling();
  let lesson = null; // the server's answer and figures
  let asked = ""; // the question that `lesson` answers
  let current = ""; // key of the step that is shown
  let guesses = new Map(); // by step: what was guessed, with how it was judged

  const edited = (key, text) => {
    values[key] = text;
    if (key === "model") values.max_model_len = "";
    changed();
    ask();
  };
  const controls = controlsOf(values, lists, edited);
  byId("lesson").append(group("One text", ...Object.values(controls)));
  byId("lesson").addEventListener("submit", (event) => event.preventDefault());

  const steps = () => [...lesson.document.steps, { key: TEACH_BACK, title: "Teach it back" }];
  const link = (key) => address("learn", { ...values, step: key });

  function showContents() {
    const items = steps().map(({ key, title }) =>
      element(
        "li",
        {},
        element(
          "a",
          { href: link(key), "aria-current": key === current ? "step" : null },
          title + (guesses.has(key) ? " · done" : ""),
        ),
      ),
    );
    byId("lesson-contents").replaceChildren(...items);
  }

  function judged(step, { grade, said, given }) {
    const box = byId("lesson-answer");
    guesses.set(step.key, { grade, said, given });
    box.hidden = false;
    box.className = "verdict " + (LOOKS[grade] || "");
    byId("lesson-said").textContent = said;
    const seen = new Set();
    const only = new Set(step.terms);
    byId("lesson-reveal").replaceChildren(
      ...step.reveal.map((text) => element("p", {}, ...explained(text, seen, only))),
    );
    showFigures(lesson.figures.filter((figure) => step.figures.includes(figure.key)));
    showContents();
  }

  function showTeachBack() {
    byId("lesson-text").replaceChildren(
      element("p", {}, "Answer each question aloud, as if to a colleague. Then compare."),
      ...lesson.document.teach_back.map(({ question, answer }) =>
        element(
          "details",
          { class: "teach" },
          element("summary", {}, question),
          element("p", {}, ...explained(answer)),
        ),
      ),
    );
  }

  function showStep() {
    const all = steps();
    const found = all.findIndex(({ key }) => key === (values.step || current));
    const at = Math.max(0, found);
    const step = all[at];
    current = step.key;
    byId("lesson-place").textContent = `Step ${at + 1} of ${all.length} · ${lesson.document.headline}`;
    byId("lesson-title").textContent = step.title;
    byId("lesson-notes").replaceChildren(
      ...lesson.document.notes.map((note) => prose("li", note)),
    );
    const hasGuess = Boolean(step.ask);
    const guess = byId("guess");
    guess.hidden = !hasGuess;
    guess.replaceChildren();
    byId("lesson-answer").hidden = true;
    showFigures([]);
    sampling.show(step.key === "sampling");
    if (step.key === TEACH_BACK) {
      showTeachBack();
    } else {
      const seen = new Set();
      const only = new Set(step.terms);
      byId("lesson-text").replaceChildren(
        ...step.text.map((text) => element("p", {}, ...explained(text, seen, only))),
      );
      if (hasGuess) {
        const form = guessForm(step.ask, (judgement) => {
          judged(step, judgement);
          byId("lesson-answer").focus();
        });
        guess.append(form.root);
        const before = guesses.get(step.key);
        if (before) {
          form.repeat(before);
          judged(step, before);
        }
      }
    }
    byId("lesson-back").hidden = at === 0;
    byId("lesson-next").hidden = at + 1 === all.length;
    if (at > 0) byId("lesson-back").href = link(all[at - 1].key);
    if (at + 1 < all.length) {
      byId("lesson-next").href = link(all[at + 1].key);
      byId("lesson-next").textContent = "Next: " + all[at + 1].title;
    }
    showContents();
    document.body.dataset.lesson = current; // for tests
  }

  function refuse(error) {
    lesson = null;
    byId("lesson-step").hidden = true;
    byId("lesson-contents").replaceChildren();
    byId("lesson-refused").hidden = false;
    byId("lesson-refused").replaceChildren(
      element("p", { class: "said" }, "No lesson on this choice"),
      element("p", {}, error.message),
    );
  }

  const fetchLesson = newestOf(async (flags, signal, superseded) => {
    byId("lesson-waiting").hidden = false;
    try {
      const answer = await post("/api/figures/learn", flags, signal);
      if (superseded()) return;
      lesson = answer;
      byId("lesson-refused").hidden = true;
      byId("lesson-step").hidden = false;
      showStep();
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      refuse(error);
    } finally {
      if (!superseded()) byId("lesson-waiting").hidden = true;
    }
  });

  function ask() {
    const flags = lessonFlags(values);
    const question = JSON.stringify(flags);
    if (question === asked && lesson) return showStep();
    asked = question;
    lesson = null;
    guesses = new Map();
    delete document.body.dataset.lesson;
    byId("lesson-step").hidden = true; // it is of another question
    fetchLesson(flags);
  }

  // A link to another step: show it from its top.
  byId("page-learn").addEventListener("click", (event) => {
    if (!event.target.closest("#lesson-next, #lesson-back, #lesson-contents a")) return;
    setTimeout(() => {
      byId("lesson-title").focus({ preventScroll: true });
      byId("lesson-place").scrollIntoView({ block: "nearest" });
    }, 0);
  });

  return {
    show() {
      for (const [key, control] of Object.entries(controls)) control.set(values[key]);
      ask();
    },
  };
}
