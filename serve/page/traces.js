// Traces of the store: dropped on the page or chosen as a file, kept, chosen as the load, deleted.
import { get, post, postFile } from "./api.js";
import { element, twoStep } from "./element.js";
import { count, time } from "./format.js";
import { DRAWN, DRAWN_MORE, firstOf } from "./more.js";
import { tracesOf } from "./plan_controls.js";

const CONFLICT = 409; // there is a trace of that name
const PACKED = /\.gz$/i;

/// The file as it is sent: packed, so that it fits where the server's limit is small.
async function packed(file) {
  if (PACKED.test(file.name) || !window.CompressionStream) return file;
  return new Response(file.stream().pipeThrough(new CompressionStream("gzip"))).blob();
}

/// `load` and `more` are the controls by key; `use(name)` puts a trace into the form. Returns
/// {root, show(name)}: `root` goes below the choice of a trace.
export function startTraces(lists, load, more, use) {
  const told = element("p", { class: "small", role: "status" });
  const input = element("input", {
    id: "field-trace-file",
    type: "file",
    accept: ".csv,.jsonl,.json,.gz",
    class: "visually-hidden",
  });
  const label = element(
    "label",
    { class: "button", for: "field-trace-file" },
    "Add a trace (or drop its file here)",
  );
  let chosen = "";
  const remove = twoStep(
    { hidden: true },
    () => ["Delete this trace", "Delete this trace"],
    () => ["Delete for good?", `Delete ${chosen} for good?`],
    async () => {
      try {
        const name = chosen;
        await post("/api/traces/delete", { name });
        told.textContent = `${name} is deleted.`;
        await refresh();
        use("");
      } catch (error) {
        told.textContent = error.message;
      }
    },
  );
  const part = element("p", { class: "small", hidden: true });
  const root = element("div", { class: "drop" }, input, label, " ", remove, part, told);
  if (lists.unread) told.textContent = `The traces of the store are not read: ${lists.unread}`;

  async function refresh() {
    const { traces } = await get("/api/traces");
    lists.traces = traces;
    load.trace.offer(tracesOf(traces));
  }

  /// `replaces`: a trace of that name, if there is one.
  async function add(file, replaces = false) {
    told.textContent = `Reading ${file.name} ...`;
    try {
      const name = [...file.name].slice(-80).join(""); // whole letters: half of one has no code
      const path = "/api/traces?name=" + encodeURIComponent(name) + (replaces ? "&replace=true" : "");
      const added = await postFile(path, await packed(file));
      await refresh();
      told.textContent = `${added.name}: ${count(added.requests)} requests over ${time(added.duration_s)}, kept in the store.`;
      use(added.name);
    } catch (error) {
      told.textContent = error.message;
      if (error.status !== CONFLICT) return;
      const again = () => add(file, true);
      told.append(" ", element("button", { type: "button", onclick: again }, "Replace it"));
    }
  }

  input.addEventListener("change", () => {
    if (input.files.length) add(input.files[0]);
    input.value = "";
  });
  // Anywhere on the page: a file that misses would otherwise replace it.
  addEventListener("dragover", (event) => {
    if (![...event.dataTransfer.types].includes("Files")) return;
    event.preventDefault();
    root.classList.add("over");
  });
  addEventListener("dragleave", (event) => {
    if (!event.relatedTarget) root.classList.remove("over");
  });
  addEventListener("drop", (event) => {
    root.classList.remove("over");
    const [file] = event.dataTransfer.files;
    if (!file) return;
    event.preventDefault();
    if (lists.limits.saves) add(file);
    else told.textContent = "The store is read-only.";
  });
  input.disabled = !lists.limits.saves;
  label.hidden = !lists.limits.saves;

  return {
    root,
    show(name) {
      if (name !== chosen) remove.blur(); // what it asked about is another trace's now
      chosen = name;
      const first = firstOf(name, lists);
      part.hidden = first === "";
      part.textContent = `Only its first ${count(Number(first))} requests are simulated: this server allows no more.`;
      remove.hidden = name === "" || !lists.limits.saves;
      for (const key of DRAWN) load[key].root.hidden = name !== "";
      for (const key of DRAWN_MORE) more[key].root.hidden = name !== "";
      load.rate_scale.root.hidden = name === "";
    },
  };
}
