// A number field with a slider: exact by typing, quick by sliding.
import { element } from "./element.js";

const POSITIONS = 240;

// A slider resolves about two digits.
function rounded(value) {
  return Number(value.toPrecision(2));
}

function scaleOf({ low, high, log, choices, step = 1 }) {
  if (choices) {
    return {
      last: choices.length - 1,
      at: (position) => choices[position],
      place: (value) =>
        Math.max(
          0,
          choices.findLastIndex((choice) => choice <= value),
        ),
    };
  }
  if (!log) {
    return {
      last: Math.round((high - low) / step),
      at: (position) => Number((low + position * step).toFixed(4)),
      place: (value) => Math.round((Math.min(high, Math.max(low, value)) - low) / step),
    };
  }
  const ratio = Math.log(high / low);
  return {
    last: POSITIONS,
    at: (position) => rounded(low * Math.exp((ratio * position) / POSITIONS)),
    place: (value) =>
      Math.round((Math.log(Math.min(high, Math.max(low, value)) / low) / ratio) * POSITIONS),
  };
}

/// Marks a field whose value is refused, which the verdict explains, or no longer.
function markRefused(field, refused) {
  const marks = { "aria-invalid": "true", "aria-describedby": "verdict" };
  for (const [name, value] of Object.entries(marks)) {
    if (refused) field.setAttribute(name, value);
    else field.removeAttribute(name);
  }
}

/// `question`: {key, label, unit, low, high, log, step, choices, least, optional, usual}: an optional
/// one may be empty; its slider is then at `usual`, or at the end. Each change calls
/// `changed(key, text)`. Returns {root, set(text)}.
export function slider(question, changed) {
  const scale = scaleOf(question);
  const id = "field-" + question.key;
  const whole = question.choices || (question.step || 1) >= 1;
  const number = element("input", {
    id,
    type: "number",
    inputmode: "decimal",
    min: question.least ?? question.low ?? question.choices[0],
    step: whole && !question.log ? 1 : "any",
    placeholder: question.optional,
  });
  const range = element("input", {
    type: "range",
    min: 0,
    max: scale.last,
    step: 1,
    "aria-label": `${question.label}, slider`,
  });
  const place = (text) => {
    const left_out = question.usual === undefined ? scale.last : scale.place(question.usual);
    range.value = text === "" ? left_out : scale.place(Number(text));
    range.setAttribute(
      "aria-valuetext",
      `${text || question.optional} ${question.unit || ""}`.trim(),
    );
  };
  range.addEventListener("input", () => {
    number.value = scale.at(Number(range.value));
    range.setAttribute("aria-valuetext", `${number.value} ${question.unit || ""}`.trim());
    changed(question.key, number.value);
  });
  number.addEventListener("input", () => {
    if (number.value === "" && question.optional === undefined) return; // still being typed
    place(number.value);
    changed(question.key, number.value);
  });
  const unit = question.unit ? element("span", { class: "unit" }, question.unit) : null;
  const root = element(
    "div",
    { class: "control" },
    element("label", { for: id }, question.label),
    number,
    unit,
    range,
  );
  return {
    root,
    label: question.label,
    set(text) {
      number.value = text;
      place(text);
    },
    /// Marks its value as refused, or no longer.
    refuse: (refused) => markRefused(number, refused),
  };
}

/// `options`: [[value, words], ...]
export function choice({ key, label }, options, changed) {
  const id = "field-" + key;
  const select = element(
    "select",
    { id },
    ...options.map(([value, words]) => element("option", { value }, words)),
  );
  select.addEventListener("change", () => changed(key, select.value));
  return {
    root: element("div", { class: "control wide" }, element("label", { for: id }, label), select),
    label,
    refuse: (refused) => markRefused(select, refused),
    offer(others) {
      select.replaceChildren(
        ...others.map(([value, words]) => element("option", { value }, words)),
      );
    },
    set(text) {
      if (![...select.options].some((option) => option.value === text)) {
        select.append(element("option", { value: text }, text)); // from a link; the server checks it
      }
      select.value = text;
    },
  };
}

export function group(title, ...controls) {
  return element(
    "fieldset",
    {},
    element("legend", {}, title),
    ...controls.map((control) => control.root),
  );
}
