// Builds elements without parsing markup: names of models and runs come from outside.

/// element("p", { class: "note" }, "text", child)
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

/// The pieces of an answer's sentence, whose keys stand in backquotes.
export function withKeys(text) {
  const parts = text.split("`");
  if (parts.length % 2 === 0) return [text];
  return parts.map((part, i) => (i % 2 ? element("code", {}, part) : part));
}

export function prose(name, text) {
  return element(name, {}, ...withKeys(text));
}

/// A button that asks once more in its own place: what it does cannot be undone. `first()` and
/// `again()` are [its text, its label].
export function twoStep(attributes, first, again, act) {
  const made = element("button", { type: "button", ...attributes });
  let asked = false;
  const show = (words) => {
    const [text, label] = words();
    made.textContent = text;
    made.setAttribute("aria-label", label);
  };
  const rest = () => {
    asked = false;
    show(first);
  };
  made.addEventListener("click", () => {
    if (asked) {
      rest();
      act();
      return;
    }
    asked = true;
    show(again);
  });
  made.addEventListener("blur", rest);
  rest();
  return made;
}

/// The exact number, for programs and tests, with the text that readers see.
export function data(value, text) {
  return element(
    "data",
    { value: value === null || value === undefined ? "" : String(value) },
    text,
  );
}

/// columns: [{title, right}], rows: cells as text or elements. The first column names its row.
export function table(caption, columns, rows) {
  const cell = (content, index) =>
    element(
      index === 0 ? "th" : "td",
      { scope: index === 0 ? "row" : null, class: columns[index].right ? "n" : null },
      content,
    );
  const made = element(
    "table",
    {},
    element("caption", {}, caption),
    element(
      "thead",
      {},
      element(
        "tr",
        {},
        ...columns.map((column) =>
          element("th", { scope: "col", class: column.right ? "n" : null }, column.title),
        ),
      ),
    ),
    element("tbody", {}, ...rows.map((row) => element("tr", {}, ...row.map(cell)))),
  );
  return element(
    "div",
    { class: "table", tabindex: "0", role: "region", "aria-label": caption },
    made,
  );
}
