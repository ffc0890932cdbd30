// The memory of one GPU as a bar, with names and shares in it.
import { data, element, table } from "./element.js";
import { fixed, GIB, gib, percent } from "./format.js";

/// Parts of the bar in the order in which they are drawn: a kind of terms, and its title.
const PARTS = [
  ["weights", "Weights"],
  ["activations", "Activations"],
  ["kv_cache", "KV cache"],
  ["overhead", "Overhead"],
  ["reserve", "Left free"],
];

/// What the blocks of the cache leave over holds nothing.
const kindOf = ({ name, kind }) => (name === "unused" ? "reserve" : kind);

const WIDE = 0.12; // share of the bar that has room for a name

let last = { memory: null, bar: null };

/// The same bar for the same answer: readers may have opened its list of terms.
export function memoryBar(memory) {
  if (last.memory !== memory) last = { memory, bar: barOf(memory) };
  return last.bar;
}

/// A bar over the terms of `memory`, the answer of the memory command, with a legend below it that
/// names every part with its size and share.
function barOf(memory) {
  const terms = memory.terms.filter(({ name, bytes }) => bytes > 0 && name !== "shortfall");
  const total = Math.max(
    memory.memory_visible_bytes,
    terms.reduce((sum, { bytes }) => sum + bytes, 0),
  );
  const parts = PARTS.map(([kind, title]) => {
    const own = terms.filter((term) => kindOf(term) === kind);
    return { title, kind, own, bytes: own.reduce((sum, { bytes }) => sum + bytes, 0) };
  }).filter(({ bytes }) => bytes > 0);
  const words = ({ title, bytes }) => `${title} ${gib(bytes)}, ${percent(bytes / total)}`;
  const details = ({ own }) =>
    own.map(({ name, bytes }) => `${name} ${fixed(bytes / GIB, 2)} GiB`).join("\n");
  return element(
    "div",
    { class: "memory" },
    element(
      "div",
      { class: "bar", role: "img", "aria-label": `Memory of one GPU: ${parts.map(words).join("; ")}` },
      ...parts.map((part) =>
        element(
          "span",
          {
            class: part.kind,
            style: `flex-grow: ${part.bytes / total}`,
            title: `${words(part)}\n${details(part)}`,
          },
          part.bytes / total >= WIDE
            ? element("span", {}, element("b", {}, part.title), ` ${percent(part.bytes / total, 0)}`)
            : "",
        ),
      ),
    ),
    element(
      "ul",
      {},
      ...parts.map((part) =>
        element(
          "li",
          {},
          element("i", { class: part.kind, "aria-hidden": "true" }),
          part.title + " ",
          data(part.bytes, gib(part.bytes)),
          ", " + percent(part.bytes / total),
        ),
      ),
    ),
    element(
      "details",
      {},
      element("summary", {}, "Every term"),
      table(
        "Terms of the memory rule",
        [{ title: "Term" }, { title: "GiB", right: true }, { title: "Why" }],
        memory.terms.map(({ name, bytes, detail }) => [
          name,
          data(bytes, fixed(bytes / GIB, 2)),
          detail,
        ]),
      ),
    ),
  );
}
