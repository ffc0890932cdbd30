// How a guess is given and judged: one of several choices, a number, or a choice for every item.
import { slider } from "./controls.js";
import { element } from "./element.js";

function choiceInput(ask) {
  const radios = ask.choices.map(({ key, text }) => ({
    key,
    text,
    input: element("input", { type: "radio", name: "guess", value: key, required: true }),
  }));
  return {
    parts: radios.map(({ text, input }) => element("label", { class: "option" }, input, " " + text)),
    given: () => (radios.find(({ input }) => input.checked) || {}).key,
    set: (key) => radios.forEach((one) => (one.input.checked = one.key === key)),
    judged: (key) => ask.judgements[ask.choices.findIndex((one) => one.key === key)],
  };
}

function numberInput(ask) {
  let text = String(ask.start);
  const control = slider(
    {
      key: "guess",
      label: "Your guess",
      unit: ask.unit,
      low: ask.low,
      high: ask.high,
      log: ask.high > 100 * ask.low,
      step: 0.1,
      least: 0,
    },
    (_, value) => (text = value),
  );
  control.set(text);
  return {
    parts: [control.root],
    given: () => text,
    set: (value) => control.set((text = value)),
    judged(value) {
      const guess = Number(value);
      const band = ask.bands.find(
        ({ low, high }) => guess >= low && (high === null || guess < high),
      );
      return {
        grade: band.grade,
        said: `${ask.truth_text}. You guessed ${value}. ${band.said}`,
      };
    },
  };
}

function matchInput(ask) {
  const selects = ask.items.map((item) => ({
    item,
    select: element(
      "select",
      { id: "match-" + item.key, required: true },
      element("option", { value: "" }, "choose"),
      ...ask.choices.map(({ key, text }) => element("option", { value: key }, text)),
    ),
  }));
  return {
    parts: selects.map(({ item, select }) =>
      element(
        "div",
        { class: "match" },
        element("label", { for: "match-" + item.key }, item.text),
        select,
      ),
    ),
    given: () => selects.map(({ select }) => select.value),
    set: (keys) => selects.forEach(({ select }, index) => (select.value = keys[index])),
    judged: (keys) =>
      ask.judgements[ask.items.filter((item, index) => item.right === keys[index]).length],
  };
}

const INPUTS = { choice: choiceInput, number: numberInput, match: matchInput };

/// Calls `judged({grade, said, given})` once the reader has guessed; skipped: without a grade.
/// Returns {root, repeat(judgement)}.
export function guessForm(ask, judged) {
  const input = INPUTS[ask.kind](ask);
  const skip = element("button", { type: "button" }, "Show without a guess");
  const field = element(
    "fieldset",
    {},
    element("legend", {}, ask.prompt),
    ...input.parts,
    element("p", { class: "actions" }, element("button", { type: "submit" }, "Show the answer"), skip),
  );
  const root = element("form", { class: "guess", id: "guess-form" }, field);
  const end = () => (field.disabled = true);
  root.addEventListener("submit", (event) => {
    event.preventDefault();
    const given = input.given();
    end();
    judged({ ...input.judged(given), given });
  });
  skip.addEventListener("click", () => {
    end();
    judged({ grade: "", said: ask.truth_text ? ask.truth_text + "." : "", given: null });
  });
  return {
    root,
    repeat({ given }) {
      if (given !== null) input.set(given);
      end();
    },
  };
}
