// Every term: a page of its own, and behind each use of a term in a text.
import { element, withKeys } from "./element.js";
import { address } from "./state.js";

const byId = (id) => document.getElementById(id);
let terms = new Map(); // by key
let pattern = /$^/g; // any spelling, longest first
let bySpelling = new Map(); // in lower case
let state = {}; // of the page, which links keep

const isAbbreviation = (spelling) => !/[a-z]/.test(spelling);

function read(list) {
  terms = new Map(list.map((term) => [term.key, term]));
  const spellings = list.flatMap((term) =>
    [term.term, ...term.spellings].map((one) => [one, term]),
  );
  spellings.sort(([a], [b]) => b.length - a.length);
  bySpelling = new Map(
    spellings.reverse().map(([one, term]) => [one.toLowerCase(), { one, term }]),
  );
  const escaped = spellings.reverse().map(([one]) => one.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&"));
  pattern = new RegExp(`(?<![A-Za-z0-9])(?:${escaped.join("|")})(?![A-Za-z0-9])`, "gi");
}

/// `text` as nodes in which the first use of each term can be asked about. `seen` holds the keys
/// that were used before; `only`, if given, the keys that count.
export function explained(text, seen = new Set(), only = null) {
  const nodes = [];
  let from = 0;
  for (const match of text.matchAll(pattern)) {
    const { one, term } = bySpelling.get(match[0].toLowerCase());
    if (isAbbreviation(one) && one !== match[0]) continue;
    if (seen.has(term.key) || (only && !only.has(term.key))) continue;
    seen.add(term.key);
    const end = match.index + match[0].length;
    const [before] = text.slice(from, match.index).match(/[("]*$/);
    const [after] = text.slice(end).match(/^[).,;:?!"]*/);
    const button = termButton(term, match[0]);
    nodes.push(
      ...withKeys(text.slice(from, match.index - before.length)),
      before || after ? element("span", { class: "unbroken" }, before, button, after) : button,
    );
    from = end + after.length;
  }
  nodes.push(...withKeys(text.slice(from)));
  return nodes;
}

/// Lets terms be asked about in the texts that are marked with data-terms.
export function showTerms(place) {
  for (const one of place.querySelectorAll("[data-terms]"))
    one.replaceChildren(...explained(one.textContent));
}

function termButton(term, words) {
  return element(
    "button",
    {
      type: "button",
      class: "term",
      "aria-haspopup": "dialog",
      "data-term": term.key,
      onclick: (event) => open(term, event.currentTarget),
    },
    words,
  );
}

function open(term, button) {
  const box = byId("term");
  box.opener = button;
  box.replaceChildren(
    element("p", { class: "said", id: "term-name" }, term.term),
    element("p", {}, term.meaning),
    element("p", { class: "small" }, term.where),
    element(
      "p",
      { class: "small" },
      element("a", { href: address("glossary", { ...state, term: term.key }) }, "Glossary"),
    ),
  );
  box.showPopover();
  const at = button.getBoundingClientRect();
  const left = Math.min(at.left, innerWidth - box.offsetWidth - 8);
  const below = at.bottom + 6;
  const fits = below + box.offsetHeight < innerHeight;
  box.style.left = Math.max(8, left) + "px";
  box.style.top = Math.max(8, fits ? below : at.top - box.offsetHeight - 6) + "px";
  box.focus();
}

/// Returns {show()}.
export function startGlossary(values, list) {
  read(list);
  state = values;
  const box = byId("term");
  box.addEventListener("toggle", (event) => {
    const isLost = document.activeElement === document.body || box.contains(document.activeElement);
    if (event.newState === "closed" && isLost && box.opener) box.opener.focus();
  });
  addEventListener("hashchange", () => {
    if (box.matches(":popover-open")) box.hidePopover();
  });
  byId("terms").replaceChildren(
    ...list.map((term) =>
      element(
        "div",
        { id: "term-" + term.key },
        element("dt", {}, term.term),
        element("dd", {}, term.meaning),
        element("dd", { class: "small" }, term.where),
      ),
    ),
  );
  const filter = byId("field-find");
  filter.addEventListener("input", () => {
    const sought = filter.value.trim().toLowerCase();
    for (const term of list) {
      const names = [term.term, ...term.spellings, term.meaning].join("\n").toLowerCase();
      byId("term-" + term.key).hidden = !names.includes(sought);
    }
  });
  return {
    show() {
      const found = terms.has(values.term) ? byId("term-" + values.term) : null;
      if (found) found.scrollIntoView({ block: "center" });
    },
  };
}
