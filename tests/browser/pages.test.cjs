// The pages of roofcast serve and of roofcast report in a real browser: what they show is what the
// command line says, they ask nobody else, and everyone can use them.
const assert = require("node:assert/strict");
const { execFileSync, spawn } = require("node:child_process");
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");
const { after, before, test } = require("node:test");
const { chromium } = require("playwright-core");

const axe = fs.readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const [program, work, chromium_program] = process.argv.slice(2).map((name) => path.resolve(name));
const folder = fs.mkdtempSync(path.join(os.tmpdir(), "roofcast-browser-"));
const profile = path.join(__dirname, "../golden/profiles/imaginary-cpu.json");
const HANGS = 600_000; // ms: no machine is so slow, and a page that hangs ends
let server, browser, home;

/// The command's answer and exit code; 3 is a "no".
function typed(...words) {
  try {
    return execFileSync(program, words, {
      cwd: folder,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    });
  } catch (error) {
    if (error.status === 3) return error.stdout;
    throw error;
  }
}

before(async () => {
  server = spawn(program, ["serve", "--port", "0", "--store", "browser.db", "--gpu", profile], {
    cwd: folder,
    stdio: ["ignore", "pipe", "ignore"],
  });
  home = await new Promise((resolve, reject) => {
    let said = "";
    server.stdout.on("data", (part) => {
      said += part;
      const found = said.match(/http:\S+/);
      if (found) resolve(found[0]);
    });
    server.on("exit", () => reject(new Error("roofcast serve ended: " + said)));
  });
  browser = await chromium.launch({ executablePath: chromium_program, args: ["--no-sandbox"] });
});

after(async () => {
  if (browser) await browser.close();
  if (server) server.kill("SIGTERM");
  fs.rmSync(folder, { recursive: true, force: true });
});

/// A page that fails the test when it says something on the console or asks anyone else.
async function opened(address, { dark = false, width = 1280, height = 1000 } = {}) {
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme: dark ? "dark" : "light",
  });
  context.setDefaultTimeout(HANGS);
  const page = await context.newPage();
  page.complaints = [];
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) page.complaints.push(message.text());
  });
  page.options = new Map(); // of the figures that the server sent, by key
  page.on("response", async (response) => {
    if (!response.url().includes("/api/figures/") || response.status() !== 200) return;
    for (const { key, option } of (await response.json().catch(() => ({ figures: [] }))).figures)
      page.options.set(key, option);
  });
  page.on("pageerror", (error) => page.complaints.push(String(error)));
  page.on("request", (request) => {
    const url = request.url();
    const own =
      url.startsWith(home) ||
      url.startsWith("data:") ||
      (address.startsWith("file:") && url === address);
    if (!own) page.complaints.push("asked for " + url);
  });
  await page.goto(address);
  return page;
}

async function closed(page) {
  assert.deepEqual(page.complaints, []);
  await page.context().close();
}

/// Until a question was answered so often, and all of its figures are drawn.
const answered = (page, times) =>
  page.waitForFunction(
    (least) =>
      Number(document.body.dataset.answered || 0) >= least &&
      Number(document.body.dataset.undrawn || 0) === 0,
    times,
  );
const picture = (page, name) =>
  page.screenshot({ path: path.join(work, name + ".png"), fullPage: true });

async function expectAccessible(page) {
  if (!(await page.evaluate(() => "axe" in window))) await page.evaluate(axe);
  const { violations } = await page.evaluate(() =>
    axe.run(document, { resultTypes: ["violations"] }),
  );
  assert.deepEqual(
    violations.map(
      (one) =>
        `${one.id}: ${one.nodes.map((node) => node.target + " " + node.failureSummary).join(" | ")}`,
    ),
    [],
  );
}

/// How many marks of data a chart has: coloured and of a size, where axes and their words are grey,
/// keys of a legend are small and upright limits have no width.
function marksIn(svg) {
  const isColoured = (paint) => {
    const parts = (paint.match(/^rgb\((.*)\)$/) || ["", ""])[1].split(",").map(Number);
    return parts.length === 3 && Math.max(...parts) - Math.min(...parts) > 40;
  };
  const marks = [...svg.querySelectorAll("path, polyline, rect, circle")].filter((mark) => {
    const { stroke, fill } = getComputedStyle(mark);
    return isColoured(stroke) || isColoured(fill);
  });
  const boxes = marks.map((mark) => mark.getBBox());
  const large = boxes.filter(({ width, height }) => width > 0 && Math.max(width, height) > 30);
  const kMostKeys = 12; // of a legend; points are more
  return large.length + Math.max(0, boxes.length - large.length - kMostKeys);
}

const titlesOf = (option) =>
  [option.xAxis, option.yAxis]
    .flat()
    .map((axis) => axis && axis.name)
    .filter(Boolean);

/// Every chart has marks of its own and the titles of its axes.
async function expectCharts(page, least, place = "figure") {
  const charts = await page.locator(place + " svg").all();
  assert.ok(charts.length >= least, `${charts.length} charts`);
  for (const chart of charts) {
    assert.ok((await chart.evaluate(marksIn)) > 0, "an empty chart");
    const [key, embedded, words] = await chart.evaluate((svg) => {
      const live = svg.closest(".live");
      const options = document.getElementById("options");
      const figure = svg.closest("figure");
      return [
        figure ? figure.id.replace(/^figure-/, "") : "",
        live && options ? JSON.parse(options.textContent)[live.dataset.figure] : null,
        svg.textContent.replace(/\s+/g, ""),
      ];
    });
    const titles = titlesOf(embedded || page.options.get(key));
    assert.ok(titles.length > 0, `${key} has no axis with a title`);
    for (const title of titles)
      assert.ok(words.includes(title.replace(/\s+/g, "")), `${key}: no "${title}" in ${words}`);
  }
}

async function set(page, name, value) {
  const times = Number(await page.evaluate(() => document.body.dataset.answered || 0));
  await page.locator("#field-" + name).fill(String(value));
  await answered(page, times + 1);
}

const exact = async (page, selector) =>
  page
    .locator(selector + " data")
    .evaluateAll((all) => all.map((one) => [one.value, one.textContent]));

/// What the page shows for a simulation, against the JSON and the table of the command line.
async function expectEqual(page) {
  const line = (await page.locator("#line").textContent()).split(" ").slice(1);
  const run = JSON.parse(typed(...line, "--no-store", "-o", "json"));
  const table = typed(...line, "--no-store");
  const shown = await exact(page, "#latency");
  const keys = [];
  for (const name of ["ttft_s", "tpot_s", "e2e_s"]) {
    const percentiles = Object.keys(run[name]).filter((one) => /^p[0-9.]+$/.test(one));
    for (const one of percentiles) keys.push(run[name][one]);
  }
  assert.deepEqual(
    shown.map(([value]) => value),
    keys.map(String),
  );
  for (const [, text] of shown)
    assert.ok(table.includes(text), `${text} is not in the command's table`);
  const cards = await exact(page, "#cards");
  for (const value of [
    run.output_tokens_per_s,
    run.cost_usd_per_h,
    run.cost_usd_per_million_output_tokens,
    run.mean_power_w,
    run.joules_per_output_token,
  ]) {
    assert.ok(
      cards.some(([shown_value]) => shown_value === String(value)),
      `${value} is not on the page`,
    );
  }
  return run;
}

test("a deployment shows charts and the command line's numbers to the digit", async () => {
  const page = await opened(home);
  await answered(page, 1);
  await expectCharts(page, 4);
  await expectEqual(page);
  await expectAccessible(page);
  await picture(page, "deployment-light");
  await closed(page);
});

test("sliders change the numbers, and they are the command line's again", async () => {
  const page = await opened(home);
  await answered(page, 1);
  const before_it = await expectEqual(page);
  await set(page, "request_rate", 25);
  const after_it = await expectEqual(page);
  assert.ok(after_it.ttft_s.p95 > before_it.ttft_s.p95);
  const slider = page.locator("#controls").getByLabel("Answer, slider");
  await slider.focus();
  for (let i = 0; i < 6; ++i) await slider.press("ArrowRight");
  const length = await page.locator("#field-output_len").inputValue();
  assert.notEqual(length, "128");
  await page.waitForFunction(
    (text) => document.getElementById("line").textContent.includes("--output-len " + text),
    length,
  );
  await page.waitForTimeout(600);
  await expectEqual(page);
  assert.ok(page.url().includes("output_len=" + length));
  await closed(page);
});

test("a link asks the same again", async () => {
  const page = await opened(home + "#plan?gpu=nvidia-h200-sxm&request_rate=33&ttft=200");
  await answered(page, 1);
  assert.equal(await page.locator("#field-gpu").inputValue(), "nvidia-h200-sxm");
  assert.match(
    await page.locator("#line").textContent(),
    /--gpu nvidia-h200-sxm .*--request-rate 33 .*p95:ttft:200ms/,
  );
  await expectEqual(page);
  await closed(page);
});

test("what does not fit says so, and what would help", async () => {
  const page = await opened(home + "#plan?model=llama-3.1-70b");
  await answered(page, 1);
  assert.match(await page.locator("#verdict").textContent(), /does not fit/);
  await page.getByRole("button", { name: "Try --tensor-parallel-size 4" }).press("Enter");
  await answered(page, 2);
  assert.equal(await page.locator("#field-tp").inputValue(), "4");
  assert.equal(await page.evaluate(() => document.activeElement.id), "field-tp");
  await expectEqual(page);
  await closed(page);
});

test("a remedy of several flags is tried as a whole", async () => {
  const page = await opened(home + "#plan?model=llama-3.1-70b&num_prompts=50");
  await answered(page, 1);
  const words = "Try --tensor-parallel-size 2 --max-model-len";
  await page.getByRole("button", { name: words }).press("Enter");
  await answered(page, 2);
  assert.match(await page.locator("#line").textContent(), /-size 2 --max-model-len \d+ /);
  assert.doesNotMatch(await page.locator("#verdict").textContent(), /does not fit/);
  await closed(page);
});

test("an SLO that too few requests meet is not said to be met", async () => {
  const page = await opened(home + "#plan?request_rate=4&turns=8&output_len=300&num_prompts=400");
  await answered(page, 1);
  const line = (await page.locator("#line").textContent()).split(" ").slice(1);
  const run = JSON.parse(typed(...line, "--no-store", "-o", "json"));
  assert.ok(run.slo.met && run.slo.undecided);
  assert.match(await page.locator("#verdict .said").textContent(), /^Undecided: /);
  assert.equal(await page.locator("#verdict").getAttribute("class"), "verdict open");
  await expectAccessible(page);
  await closed(page);
});

test("a search is cut to its first part only where the server has no time for all", async () => {
  const page = await opened(home);
  await answered(page, 1);
  const asked = [];
  await page.route("**/api/whatif", async (route) => {
    asked.push(route.request().postDataJSON());
    if (asked.length > 1) return route.continue();
    return route.fulfill({ status: 504, json: { error: "exceeded the server's limit of 10 s" } });
  });
  await page.locator("#field-vary").fill("replicas=2");
  await page.locator("#try").click();
  await page.locator("#search-answer table").waitFor();
  assert.deepEqual(asked.map((one) => one["num-prompts"]), [undefined, "500"]);
  assert.match(await page.locator("#search-told").textContent(), /only the first 500 requests/);
  page.complaints = page.complaints.filter((text) => !/status of 504/.test(text)); // the browser's own words
  await closed(page);
});

test("how much it carries is the command line's, with the curve and the SLO in it", async () => {
  const page = await opened(home);
  await answered(page, 1);
  const line = (await page.locator("#line").textContent()).replace(/--num-prompts \d+ /, "");
  const words = line.replace("roofcast simulate", "capacity").split(" ");
  await page.locator("#carry").press("Enter");
  await page.locator("#curves svg").first().waitFor();
  const found = JSON.parse(typed(...words, "--no-store", "-o", "json"));
  assert.deepEqual(
    (await exact(page, "#carried")).map(([value]) => value),
    [String(found.capacity)],
  );
  await expectCharts(page, 2, "#curves");
  assert.match(await page.locator("#curves svg").first().textContent(), /SLO: p95 ≤ 500/);
  await expectAccessible(page);
  await set(page, "request_rate", 12); // another question: the old curve goes
  assert.equal(await page.locator("#capacity").isVisible(), false);
  await closed(page);
});

test("percentiles get the command line's intervals, and the SLO its probability", async () => {
  const page = await opened(home + "#plan?request_rate=10&ttft=60");
  await page.waitForFunction(() => Number(document.body.dataset.sure || 0) >= 1);
  const line = (await page.locator("#line").textContent()).split(" ").slice(1);
  const run = JSON.parse(typed(...line, "--intervals", "--no-store", "-o", "json"));
  const shown = await page.locator("#latency .interval").allTextContents();
  const rows = ["ttft_s", "tpot_s", "e2e_s"].map((name) =>
    run.intervals.latencies.find(({ latency }) => latency === name),
  );
  const percentiles = Object.keys(rows[0].low).filter((one) => /^p[0-9.]+$/.test(one));
  assert.equal(shown.length, rows.length * percentiles.length);
  // In milliseconds, as the value above it, or in seconds.
  for (const [index, text] of shown.entries()) {
    const row = rows[Math.floor(index / percentiles.length)];
    const one = percentiles[index % percentiles.length];
    const [low, high, unit] = text.match(/^([0-9.]+)-([0-9.]+) (ms|s)$/).slice(1);
    const scale = unit === "ms" ? 1000 : 1;
    const half = unit === "ms" ? 0.051 : 0.0051;
    assert.ok(Math.abs(Number(low) - row.low[one] * scale) < half, `${text} for ${row.low[one]}`);
    assert.ok(Math.abs(Number(high) - row.high[one] * scale) < half, `${text} for ${row.high[one]}`);
  }
  assert.match(
    await page.locator("#verdict .targets").textContent(),
    /probability that the SLO is met: (over |under )?[0-9.]+ %$/,
  );
  await expectEqual(page);
  await expectAccessible(page);
  await picture(page, "deployment-intervals");
  await closed(page);
});

test("without an SLO nothing is said of one", async () => {
  const page = await opened(home + "#plan?ttft=&tpot=&num_prompts=200");
  await answered(page, 1);
  const verdict = await page.locator("#verdict").textContent();
  assert.match(verdict, /^It runs on 1 GPU .*no SLO was given\./);
  assert.doesNotMatch(verdict, /null/);
  await page.locator("#carry").press("Enter");
  await page.locator("#curves svg").first().waitFor();
  assert.match(
    await page.locator("#carried").textContent(),
    /requests\/s before the backlog grows \(no SLO was given\)/,
  );
  await closed(page);
});

test("every control is reached by the keyboard alone", async () => {
  const page = await opened(home);
  await answered(page, 1);
  await page.locator("#figures svg").first().waitFor();
  const stops = await page.evaluate(() => {
    const all = document.querySelectorAll(
      "a[href], button, input, select, summary, [tabindex='0']",
    );
    const open = [...all].filter((one) => !one.disabled && one.checkVisibility());
    open.forEach((one, index) => (one.dataset.stop = index));
    return open.length;
  });
  const seen = new Set();
  for (let i = 0; i < stops + 5; ++i) {
    await page.keyboard.press("Tab");
    seen.add(await page.evaluate(() => document.activeElement.dataset.stop));
  }
  for (let i = 0; i < stops; ++i) assert.ok(seen.has(String(i)), `stop ${i} of ${stops}`);
  await closed(page);
});

test("on paper there are answers and figures, dark on white", async () => {
  const page = await opened(home, { dark: true });
  await answered(page, 1);
  await page.locator("#figures svg").first().waitFor();
  await page.emulateMedia({ media: "print" });
  await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
  for (const id of ["controls", "save", "theme"])
    assert.equal(await page.locator("#" + id).isVisible(), false, id);
  for (const id of ["verdict", "cards", "line"])
    assert.equal(await page.locator("#" + id).isVisible(), true, id);
  const colour = (selector, name) =>
    page
      .locator(selector)
      .first()
      .evaluate((one, key) => getComputedStyle(one)[key], name);
  assert.equal(await colour("body", "backgroundColor"), "rgb(255, 255, 255)");
  assert.equal(await colour("h1", "color"), "rgb(0, 0, 0)");
  const [level] = (await colour("#figures svg text", "fill")).match(/\d+/g).map(Number);
  assert.ok(level < 128, `words of a chart are ${level} of 255 red`);
  await closed(page);
});

test("texts of a link are no markup, and what is refused is said", async () => {
  const page = await opened(
    home + "#plan?model=" + encodeURIComponent("<img src=x onerror=alert(1)>") + "&gpu=nosuch",
  );
  await answered(page, 1);
  assert.equal(await page.locator("main img").count(), 0);
  assert.match(await page.locator("#verdict").textContent(), /nosuch/);
  page.complaints = page.complaints.filter((text) => !/status of (400|422)/.test(text)); // the browser's own words
  await closed(page);
});

test("after a refusal nothing of the answer before it stays", async () => {
  const page = await opened(home);
  await answered(page, 1);
  await page.locator("#figures svg").first().waitFor();
  await set(page, "request_rate", -1);
  assert.match(await page.locator("#verdict").textContent(), /No answer/);
  for (const id of ["cards", "notes", "figures"])
    assert.equal(await page.locator(`#${id} > *`).count(), 0, id);
  assert.equal(await page.locator("#save").isDisabled(), true);
  assert.equal(await page.locator("#carry").isDisabled(), true);
  await set(page, "request_rate", 10);
  await expectCharts(page, 4);
  assert.equal(await page.locator("#save").isDisabled(), false);
  page.complaints = page.complaints.filter((text) => !/status of (400|422)/.test(text)); // the browser's own words
  await closed(page);
});

test("what is refused is said in the form's words, and its field is marked", async () => {
  const page = await opened(home + "#plan?num_prompts=50");
  await answered(page, 1);
  await page.locator("details.more summary").click();
  await set(page, "turns", "2"); // think time is asked between turns
  const wrong = [
    ["think", "-1", "10", /Think time between turns: '-1' must be seconds from 0 to 2,592,000/],
    ["request_rate", "-1", "5", /Requests: '-1' must be above 0/],
    ["input_len", "3.7", "100", /Prompt: '3.7' must be a whole number/],
    ["ttft", "0", "500", /First token within: '0' must be a time above 0/],
    ["tp", "0", "1", /GPUs per replica \(TP\): '0' must be at least 1/],
  ];
  for (const [key, bad, good, words] of wrong) {
    await set(page, key, bad);
    assert.match(await page.locator("#verdict").textContent(), words);
    assert.deepEqual(
      await page.locator("[aria-invalid=true]").evaluateAll((all) => all.map(({ id }) => id)),
      [`field-${key}`],
    );
    await expectAccessible(page);
    await set(page, key, good);
    assert.equal(await page.locator("[aria-invalid=true]").count(), 0, key);
  }
  // With a spread, lengths are said as lognormal:0:0.9.
  const times = Number(await page.evaluate(() => document.body.dataset.answered));
  await page.locator("#field-spread").selectOption({ index: 1 });
  await answered(page, times + 1);
  await set(page, "input_len", "0");
  assert.match(
    await page.locator("#verdict").textContent(),
    /Prompt: '0' must be a whole number from 1 to 10,000,000/,
  );
  assert.equal(
    await page.locator("#field-input_len").getAttribute("aria-describedby"),
    "verdict",
  );
  await set(page, "input_len", "100");
  assert.equal(await page.locator("#field-input_len").getAttribute("aria-describedby"), null);
  await set(page, "turns", "-5"); // it was taken for no turns at all
  assert.match(await page.locator("#verdict").textContent(), /Turns per session: '-5'/);
  page.complaints = page.complaints.filter((text) => !/status of (400|422)/.test(text)); // the browser's own words
  await closed(page);
});

test("an emptied chart would be seen", async () => {
  const page = await opened(home);
  await answered(page, 1);
  await expectCharts(page, 4);
  await page.evaluate((option) => {
    const place = document.createElement("div");
    place.id = "emptied";
    place.style.cssText = "width:500px;height:300px";
    document.body.append(place);
    for (const series of option.series) series.data = [];
    RoofcastCharts.mount(place, option, false);
  }, page.options.get("latency_ttft"));
  const left = await page.locator("#emptied svg").evaluate(marksIn);
  assert.equal(left, 0);
  await closed(page);
});

test("dark and on a phone it is as accessible", async () => {
  const dark = await opened(home, { dark: true });
  await answered(dark, 1);
  await expectAccessible(dark);
  await picture(dark, "deployment-dark");
  await closed(dark);
  const phone = await opened(home, { width: 360, height: 740 });
  await answered(phone, 1);
  const [inner, scroll] = await phone.evaluate(() => [
    innerWidth,
    document.documentElement.scrollWidth,
  ]);
  assert.ok(scroll <= inner, `scrolls sideways: ${scroll} of ${inner}`);
  await expectAccessible(phone);
  await picture(phone, "deployment-phone");
  await closed(phone);
});

test("runs are saved, listed and compared", async () => {
  const page = await opened(home);
  await answered(page, 1);
  await page.locator("#save").click();
  await page.getByText("Saved as run 1").waitFor();
  await set(page, "request_rate", 20);
  await page.locator("#save").click();
  await page.getByText("Saved as run 2").waitFor();
  await page.getByRole("link", { name: "Runs", exact: true }).click();
  await page.getByLabel("Choose run 1").check();
  await page.getByLabel("Choose run 2").check();
  await page.locator("#compare").click();
  await page.locator("#comparison table").waitFor();
  assert.match(await page.locator("#comparison").textContent(), /TTFT p95/);
  await expectAccessible(page);
  await picture(page, "runs-light");
  await closed(page);
});

test("a saved run has its report", async () => {
  typed(
    "simulate",
    "--model",
    "llama-3.1-8b",
    "--gpu",
    "h100",
    "--request-rate",
    "10",
    "--num-prompts",
    "200",
    "--slo",
    "p95:ttft:500ms",
    "--store",
    "browser.db",
  );
  const page = await opened(home + "#runs");
  await page
    .getByRole("link", { name: /^Report of run/ })
    .first()
    .click();
  await page.locator(".live svg").first().waitFor();
  await expectCharts(page, 1, ".live");
  assert.ok(!(await page.content()).includes(folder));
  await closed(page);
});

const atStep = (page, key) =>
  page.waitForFunction((step) => document.body.dataset.lesson === step, key);

/// Gives a guess, the right one or a wrong one.
async function give(page, ask, well) {
  if (ask.kind === "choice") {
    const key = well ? ask.right : ask.choices.find((one) => one.key !== ask.right).key;
    await page.locator(`#guess input[value="${key}"]`).check();
  } else if (ask.kind === "number") {
    await page.locator("#field-guess").fill(String(well ? ask.truth : ask.truth * 3 + 1));
  } else {
    for (const [index, item] of ask.items.entries()) {
      const other = ask.items[(index + 1) % ask.items.length];
      await page.locator("#match-" + item.key).selectOption(well ? item.right : other.right);
    }
  }
  await page.getByRole("button", { name: "Show the answer" }).press("Enter");
}

const texts = (page, selector) =>
  page.locator(selector).evaluateAll((all) => all.map((one) => one.textContent));

/// As the page sets them: keys in backquotes are code.
const shown = (lines) => lines.map((line) => line.replaceAll("`", ""));

/// From the first step to the last question, against the command's own lesson.
async function walk(page, lesson, well) {
  for (const step of lesson.steps) {
    await atStep(page, step.key);
    assert.equal(await page.locator("#lesson-title").textContent(), step.title);
    assert.deepEqual(await texts(page, "#lesson-text > p"), shown(step.text));
    assert.equal(await page.locator("#lesson-answer").isVisible(), false);
    if (step.ask) {
      await give(page, step.ask, well);
      await page.locator("#lesson-answer").waitFor();
      assert.equal(await page.locator("#lesson-answer.yes").count(), well ? 1 : 0, step.key);
      assert.equal(await page.locator("#lesson-answer.no").count(), well ? 0 : 1, step.key);
      assert.deepEqual(await texts(page, "#lesson-reveal > p"), shown(step.reveal));
      if (step.figures.length) {
        await page.locator("#lesson-figures svg").nth(step.figures.length - 1).waitFor();
        await expectCharts(page, step.figures.length, "#lesson-figures");
      }
    }
    await expectAccessible(page);
    await page.locator("#lesson-next").press("Enter");
  }
  await atStep(page, "teach-back");
  const questions = await texts(page, "#lesson-text summary");
  assert.deepEqual(
    questions,
    lesson.teach_back.map((one) => one.question),
  );
  await page.locator("#lesson-text summary").first().press("Enter");
  assert.equal(
    await page.locator("#lesson-text details[open] p").textContent(),
    lesson.teach_back[0].answer,
  );
  await expectAccessible(page);
}

for (const [model, gpu, file, dark, well] of [
  ["gpt2", "imaginary-cpu", profile, false, true],
  ["llama-3.1-8b", "nvidia-h100-sxm", "nvidia-h100-sxm", true, false],
]) {
  test(`the lesson goes from its first guess to its last question: ${model} on ${gpu}`, async () => {
    const lesson = JSON.parse(typed("learn", "--model", model, "--gpu", file, "-o", "json"));
    const page = await opened(`${home}#learn?model=${model}&gpu=${gpu}`, { dark });
    await walk(page, lesson, well);
    await picture(page, "lesson-" + model);
    await page.goBack();
    await atStep(page, "sampling");
    await page.locator("#lesson-answer").waitFor(); // what was guessed is still there
    await page.goto(`${home}#learn?model=${model}&gpu=${gpu}&step=cause`);
    await atStep(page, "cause");
    await page.locator("#lesson-answer").waitFor();
    await picture(page, "lesson-cause-" + model);
    await closed(page);
  });
}

test("a guess that is not far off is not praised, and none is not judged", async () => {
  const page = await opened(home + "#learn?step=roofline");
  await atStep(page, "roofline");
  await page.locator("#field-guess").fill("400"); // 295 FLOPs a byte
  await page.getByRole("button", { name: "Show the answer" }).press("Enter");
  await page.getByText("You guessed 400. Not far off.").waitFor();
  assert.equal(await page.locator("#lesson-answer").getAttribute("class"), "verdict near");
  await page.locator("#lesson-next").click();
  await atStep(page, "batching");
  await page.getByRole("button", { name: "Show without a guess" }).press("Enter");
  await page.locator("#lesson-reveal p").first().waitFor();
  assert.equal((await page.locator("#lesson-answer").getAttribute("class")).trim(), "verdict");
  await closed(page);
});

test("a term is explained where it stands, by the keyboard, and in the glossary", async () => {
  const page = await opened(home + "#learn?step=cause");
  await atStep(page, "cause");
  const term = page.locator("#lesson-text .term, #lesson-step .term").first();
  await term.focus();
  await page.keyboard.press("Enter");
  assert.equal(await page.locator("#term").isVisible(), true);
  await expectAccessible(page);
  await page.keyboard.press("Escape");
  assert.equal(await page.locator("#term").isVisible(), false);
  assert.equal(await term.evaluate((one) => one === document.activeElement), true);
  await term.press("Enter");
  await page.locator("#term a").press("Enter");
  await page.locator("#terms dt").first().waitFor();
  assert.equal(await page.locator("#term").isVisible(), false);
  await page.locator("#field-find").fill("ridge");
  assert.equal(await page.locator("#term-ridge-point").isVisible(), true);
  assert.equal(await page.locator("#term-token").isVisible(), false);
  await expectAccessible(page);
  await closed(page);
});

test("the playground follows temperature, top-k and top-p", async () => {
  const page = await opened(home + "#learn?step=sampling");
  await atStep(page, "sampling");
  await page.locator("#sampling svg").waitFor();
  await page.locator("#field-top_k").fill("2");
  await page.getByText("2 of 8 words can be chosen").first().waitFor();
  await page.locator("#field-temperature").fill("0");
  await page.getByText("1 of 8 words can be chosen").first().waitFor();
  await expectCharts(page, 1, "#sampling");
  await page.locator("#field-temperature").fill("-1");
  await page.getByText("temperature: ").waitFor();
  await expectAccessible(page);
  page.complaints = page.complaints.filter((text) => !/status of (400|422)/.test(text)); // the browser's own words
  await closed(page);
});

test("old links lead to the lesson, which fits a phone and says what it refuses", async () => {
  const page = await opened(home + "#staircase", { width: 360, height: 740 });
  await atStep(page, "start");
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
  await expectAccessible(page);
  await page.locator("#field-learn-model").selectOption("llama-3.1-405b");
  await page.locator("#lesson-refused").waitFor();
  assert.match(await page.locator("#lesson-refused").textContent(), /does not fit/);
  assert.equal(await page.locator("#lesson-step").isVisible(), false);
  await expectAccessible(page);
  await page.locator("#field-learn-model").selectOption("gpt2");
  await atStep(page, "start");
  assert.match(await page.locator("#lesson-text").textContent(), /gpt2/);
  page.complaints = page.complaints.filter((text) => !/status of (400|422)/.test(text)); // the browser's own words
  await closed(page);
});

test("an answer that is on its way is not shown for what is asked by then", async () => {
  const page = await opened(home + "#learn?step=shape");
  await atStep(page, "shape");
  let late = 0;
  await page.route("**/api/figures/learn", async (route) => {
    if (late++ === 0) await new Promise((resolve) => setTimeout(resolve, 800));
    await route.continue().catch(() => {}); // the page has given it up by then
  });
  await page.locator("#field-prompt").fill("600");
  await page.waitForTimeout(300);
  assert.equal(await page.locator("#lesson-step").isVisible(), false);
  await page.locator("#field-prompt").fill("700");
  await atStep(page, "shape");
  await page.waitForTimeout(800);
  await page.goto(page.url().replace("shape", "grows"));
  await atStep(page, "grows");
  await page.getByRole("button", { name: "Show without a guess" }).click();
  assert.match(await page.locator("#lesson-reveal").textContent(), /computes the 700 tokens/);
  await closed(page);
});

test("the bar of the memory names its parts with their shares, of the command's terms", async () => {
  const page = await opened(home);
  await answered(page, 1);
  const { terms } = JSON.parse(
    typed("memory", "--model", "llama-3.1-8b", "--gpu", "nvidia-h100-sxm", "-o", "json"),
  );
  const weights = terms
    .filter(({ name }) => name.startsWith("weights."))
    .reduce((sum, { bytes }) => sum + bytes, 0);
  const graphs = terms
    .filter(({ name }) => ["non_torch", "cuda_graphs"].includes(name))
    .reduce((sum, { bytes }) => sum + bytes, 0);
  const shown = (title) =>
    page.locator(".memory li", { hasText: title }).locator("data").getAttribute("value");
  assert.equal(Number(await shown("Weights")), weights);
  assert.equal(Number(await shown("Overhead")), graphs);
  assert.match(await page.locator(".memory .kv_cache").first().textContent(), /^KV cache \d+ %$/);
  await closed(page);
});

test("Back returns to the question before, and a question on its way is marked", async () => {
  const page = await opened(home);
  await answered(page, 1);
  await page.waitForTimeout(1000);
  let held;
  await page.route("**/api/simulate", async (route) => {
    await new Promise((resolve) => (held = resolve));
    await route.continue().catch(() => {});
  });
  await page.locator("#field-gpu").selectOption("nvidia-l40s");
  await page.locator("#answer[aria-busy]").waitFor();
  await page.waitForTimeout(300);
  await page.locator("#busy").waitFor({ state: "visible" });
  await page.unroute("**/api/simulate");
  held();
  await answered(page, 2);
  assert.equal(await page.locator("#answer").getAttribute("aria-busy"), null);
  await page.goBack();
  await answered(page, 3);
  assert.equal(await page.locator("#field-gpu").inputValue(), "nvidia-h100-sxm");
  assert.match(await page.locator("#line").textContent(), /--gpu nvidia-h100-sxm /);
  await closed(page);
});

test("lengths that vary, pools and speculation are the command line's", async () => {
  const page = await opened(
    home + "#plan?num_prompts=100&spread=0.9&prefill_replicas=1&decode_replicas=2&speculative=eagle",
  );
  await answered(page, 1);
  const line = await page.locator("#line").textContent();
  assert.match(line, /--input-len lognormal:1024:0.9 .*--prefill-replicas 1 --decode-replicas 2/);
  assert.match(line, /--speculative-method eagle --num-speculative-tokens 3 --acceptance-rate 0.7/);
  const run = JSON.parse(typed(...line.split(" ").slice(1), "--no-store", "-o", "json"));
  const shown = page.locator(".card", { hasText: "tokens/s" }).locator("data").first();
  assert.equal(Number(await shown.getAttribute("value")), run.output_tokens_per_s);
  await expectAccessible(page);
  await closed(page);
});

test("what may help is what the command line says", async () => {
  const page = await opened(home + "#plan?gpu=nvidia-l40s&num_prompts=600&request_rate=20");
  await answered(page, 1);
  const line = await page.locator("#line").textContent();
  const run = JSON.parse(typed(...line.split(" ").slice(1), "--no-store", "-o", "json"));
  assert.ok(run.advice.length >= 1, "an L40S does not carry 20 requests/s");
  const here = (text) =>
    text.replaceAll("roofcast capacity", "the capacity").replaceAll("roofcast plan", "a plan");
  assert.deepEqual(
    await page.locator("#advice li").allTextContents(),
    shown(run.advice).map(here),
  );
  await expectAccessible(page);
  await closed(page);
});

test("an advice to run another command is a button of the page", async () => {
  const page = await opened(home + "#plan?num_prompts=300&request_rate=1");
  await answered(page, 1);
  const advice = page.locator("#advice");
  assert.doesNotMatch(await advice.textContent(), /roofcast (capacity|plan)/);
  await advice.getByRole("button", { name: "the capacity" }).press("Enter");
  await page.locator("#carried", { hasText: "requests/s" }).waitFor();
  await closed(page);
});

test("several GPUs are compared, and a plan takes the reader's own prices", async () => {
  const page = await opened(home + "#plan?num_prompts=100");
  await answered(page, 1);
  await page.locator("#several").click();
  assert.match(await page.locator("#search-told").textContent(), /Name the GPUs to compare/);
  await page.locator("#field-candidates").fill("h100, l40s");
  await page.locator("#several").click();
  const answer = page.locator("#search-answer table");
  await answer.waitFor();
  const line = await page.locator("#search-line").textContent();
  const found = JSON.parse(typed(...line.split(" ").slice(1), "--no-store", "-o", "json"));
  const shown = await answer.locator("tbody tr").evaluateAll((rows) =>
    rows.map((row) => Number(row.querySelector("data").getAttribute("value"))),
  );
  assert.deepEqual(shown, found.rows.map(({ capacity }) => capacity));
  await expectAccessible(page);
  await page.locator("#field-prices").fill("h100=1,l40s=30");
  await page.locator("#find").click();
  const said = page.locator("#search-answer .said");
  await said.waitFor();
  assert.match(await said.textContent(), /H100/); // at $30 no L40S is cheaper than one H100 at $1
  assert.match(await page.locator("#search-line").textContent(), /--price h100=1,l40s=30/);
  await closed(page);
});

test("a change is tried, and a search can be stopped", async () => {
  const page = await opened(home + "#plan?num_prompts=100");
  await answered(page, 1);
  await page.locator("#field-vary").fill("replicas=+1 speculative=eagle:2:0.6");
  await page.locator("#try").click();
  const answer = page.locator("#search-answer table");
  await answer.waitFor();
  assert.match(await answer.textContent(), /as it is.*replicas = \+1, speculative = eagle:2:0.6/s);
  assert.match(await answer.locator("thead").textContent(), /TTFT p95.*SLO/s);
  await expectAccessible(page);
  await page.route("**/api/plan", () => {}); // never answered
  const far = { what: "simulations", done: 3, total: 1200 };
  await page.route("**/api/progress/*", (route) => route.fulfill({ json: far }));
  await page.locator("#find").click();
  await page.locator("#search-count", { hasText: "3 of 1,200 simulations, " }).waitFor();
  assert.equal(await page.locator("#search-progress").getAttribute("max"), "1200");
  await expectAccessible(page);
  await page.locator("#search-stop").click();
  assert.equal(await page.locator("#search-progress").isVisible(), false);
  assert.equal(await page.locator("#search-told").textContent(), "Stopped.");
  assert.equal(await page.locator("#search-stop").isVisible(), false);
  await closed(page);
});

test("a plan's answer is the command line's, and its first goes into the form", async () => {
  const page = await opened(home + "#plan?num_prompts=200&request_rate=60");
  await answered(page, 1);
  await page.locator("#find").click();
  const answer = page.locator("#search-answer > .table table");
  await answer.waitFor();
  const line = await page.locator("#search-line").textContent();
  const found = JSON.parse(typed(...line.split(" ").slice(1), "--no-store", "-o", "json"));
  const [best] = found.ranked;
  assert.ok(best.units >= 2, `${best.units} units`);
  const cells = answer.locator("tbody tr").first().locator("td, th");
  const titles = await answer.locator("thead th").allTextContents();
  const each = cells.nth(titles.indexOf("$/M output"));
  assert.equal(
    Number(await each.locator("data").getAttribute("value")),
    best.cost_usd_per_million_output_tokens,
  );
  assert.equal(await each.textContent(), best.cost_usd_per_million_output_tokens.toFixed(2));
  assert.doesNotMatch(await answer.textContent(), /inf|NaN/);
  await page.getByText("How it was searched").click();
  const searched = page.locator("#search-answer details");
  assert.match(await searched.textContent(), new RegExp(`^.*${found.candidates.toLocaleString("en")} candidates`));
  assert.equal(await searched.locator("tbody tr").count(), found.rejected.length);
  await expectAccessible(page);
  await answer.getByRole("button", { name: "Use it" }).first().click();
  await answered(page, 2);
  const replicas = best.units * best.deployment.cluster.pools[0].replicas;
  assert.match(await page.locator("#line").textContent(), new RegExp(` --replicas ${replicas} `));
  await closed(page);
});

test("a run that asks for more than the form holds offers no Open", async () => {
  const asked = ["--model", "llama-3.1-8b", "--gpu", "h100", "--request-rate", "3"];
  const kept = ["--num-prompts", "20", "--store", "browser.db"];
  typed("simulate", ...asked, ...kept);
  typed("simulate", ...asked, "--enforce-eager", ...kept);
  const { runs } = JSON.parse(typed("runs", "--store", "browser.db", "-o", "json"));
  const [plain, eager] = runs.map((run) => run.id).sort((a, b) => a - b).slice(-2);
  const page = await opened(home + "#runs");
  await page.getByRole("link", { name: `Report of run ${eager}`, exact: true }).waitFor();
  const open = (id) => page.getByRole("link", { name: `Open run ${id}`, exact: true });
  assert.equal(await open(plain).count(), 1);
  assert.equal(await open(eager).count(), 0);
  await closed(page);
});

test("a saved run opens in the form again, and what is not there is a page", async () => {
  const page = await opened(home + "#plan?num_prompts=90&request_rate=3&spread=0.5");
  await answered(page, 1);
  await page.locator("#save").click();
  await page.locator("#told a").waitFor();
  const line = await page.locator("#line").textContent();
  await page.goto(home + "#runs");
  await page.locator("#runs a", { hasText: "Open" }).first().click();
  await answered(page, 2);
  assert.equal(await page.locator("#line").textContent(), line);
  await closed(page);
  const lost = await opened(home + "report/999");
  assert.match(await lost.locator("main").textContent(), /no such run/);
  lost.complaints = lost.complaints.filter((one) => !one.includes("404"));
  await expectAccessible(lost);
  await lost.locator("main a", { hasText: "runs" }).click();
  await lost.locator("#runs table").waitFor();
  await closed(lost);
});

test("a dropped trace is kept, is the load, and is the command line's", async () => {
  const file = "two turns.csv";
  const rows = [...Array(60).keys()].map((i) => `${i * 0.5},${200 + i},${20 + (i % 7)}`);
  fs.writeFileSync(path.join(folder, "two_turns.csv"), ["time,input,output", ...rows].join("\n"));
  const page = await opened(home + "#plan?num_prompts=100");
  await answered(page, 1);
  const content = fs.readFileSync(path.join(folder, "two_turns.csv"), "utf8");
  const dropped = await page.evaluateHandle(
    ([name, text]) => {
      const data = new DataTransfer();
      data.items.add(new File([text], name, { type: "text/csv" }));
      return data;
    },
    [file, content],
  );
  await page.dispatchEvent("main", "drop", { dataTransfer: dropped });
  await page.getByText("two_turns.csv: 60 requests over 29.50 s, kept in the store.").waitFor();
  await answered(page, 2);
  assert.equal(await page.locator("#field-trace").inputValue(), "two_turns.csv");
  assert.equal(await page.locator("#field-request_rate").isVisible(), false);
  const line = (await page.locator("#line").textContent()).split(" ").slice(1);
  assert.ok(line.includes("--trace") && !line.includes("--request-rate"), line.join(" "));
  const run = JSON.parse(typed(...line, "--no-store", "-o", "json"));
  const shown = page.locator(".card", { hasText: "tokens/s" }).locator("data").first();
  assert.equal(Number(await shown.getAttribute("value")), run.output_tokens_per_s);
  await expectAccessible(page);
  await picture(page, "trace");

  await page.locator("#carry").click(); // its figures are drawn from the same trace
  await page.locator("#carried data").waitFor();
  await page.locator("#save").click();
  await page.locator("#told a").waitFor();
  const id = (await page.locator("#told").textContent()).match(/run (\d+)/)[1];
  const report = await opened(`${home}report/${id}`);
  assert.match(await report.locator("main").textContent(), /all stored figures were reproduced/);
  await closed(report);

  await page.reload(); // the address names the trace, the store has it
  await answered(page, 1);
  assert.equal(await page.locator("#field-trace").inputValue(), "two_turns.csv");
  await page.locator("#field-trace-file").setInputFiles({
    name: file,
    mimeType: "text/csv",
    buffer: Buffer.from("time,input,output\n0,100,5\n1,100,5\n"),
  });
  await page.getByText("the store has a trace 'two_turns.csv' already").waitFor();
  await page.getByRole("button", { name: "Replace it" }).click();
  await page.getByText("two_turns.csv: 2 requests over 1.00 s, kept in the store.").waitFor();
  await answered(page, 2);
  await page.getByRole("button", { name: "Delete this trace" }).click();
  assert.equal(await page.locator("#field-trace option").count(), 2); // asked once more
  await page.getByRole("button", { name: "Delete two_turns.csv for good?" }).click();
  await page.getByText("two_turns.csv is deleted.").waitFor();
  await answered(page, 3);
  assert.equal(await page.locator("#field-trace").inputValue(), "");
  assert.equal(await page.locator("#field-request_rate").isVisible(), true);
  await page.locator("#field-trace-file").setInputFiles({
    name: "broken.csv",
    mimeType: "text/csv",
    buffer: Buffer.from("time,input,output\n1,many,2\n"),
  });
  await page.getByText(/broken.csv:2: .*many/).waitFor(); // and nothing of it is kept
  assert.equal(await page.locator("#field-trace option").count(), 1);
  page.complaints = page.complaints.filter((one) => !/409|422/.test(one));
  await closed(page);
});

test("the page opens without the store's traces, and says why", async () => {
  const page = await opened(home + "#plan?num_prompts=100");
  await answered(page, 1);
  await page.route("**/api/traces", (route) =>
    route.fulfill({ status: 503, json: { error: "the server is busy" } }),
  );
  await page.reload();
  await answered(page, 1);
  await page.getByText("The traces of the store are not read: the server is busy").waitFor();
  page.complaints = page.complaints.filter((one) => !one.includes("503"));
  await closed(page);
});

test("of a trace beyond the server's limit the first requests are the load", async () => {
  const page = await opened(home + "#plan?num_prompts=100");
  await answered(page, 1);
  const kept = { name: "long.csv", created_at: "", requests: 20001, duration_s: 20000 };
  await page.route("**/api/traces", (route) => route.fulfill({ json: { traces: [kept] } }));
  await page.reload();
  await answered(page, 1);
  await page.goto(home + "#plan?trace=long.csv");
  await page.locator("#line", { hasText: "--trace long.csv --max-requests 20000" }).waitFor();
  await page.getByText("Only its first 20,000 requests are simulated").waitFor();
  await answered(page, 2);
  page.complaints = page.complaints.filter((one) => !one.includes("400")); // it is not in the store
  await closed(page);
});

test("a stored run is opened in the form only if its trace is in the store", async () => {
  const page = await opened(home + "#plan?num_prompts=100");
  await answered(page, 1);
  const lines = ["--trace /data/x.csv", "--request-rate 2"];
  const runs = lines.map((load, index) => ({
    id: index + 1,
    name: "",
    created_at: "2026-11-24T12:00:00Z",
    kind: "simulate",
    model: "gpt2",
    gpu: "h100",
    engine: "vllm",
    summary: "",
    command_line: `roofcast simulate --model gpt2 --gpu h100 ${load}`,
  }));
  await page.route("**/api/runs", (route) => route.fulfill({ json: { runs, runs_total: 2 } }));
  await page.goto(home + "#runs");
  await page.getByRole("link", { name: "Open run 2" }).waitFor();
  assert.equal(await page.getByRole("link", { name: "Open run 1" }).count(), 0);
  await closed(page);
});

test("a search counts the turns of its sessions", async () => {
  const page = await opened(home + "#plan?num_prompts=1000&turns=4&think=5");
  await answered(page, 1);
  await page.route("**/api/whatif", () => {}); // never answered
  await page.locator("#field-vary").fill("tp=2");
  await page.locator("#try").click();
  await page.locator("#search-line", { hasText: "--num-prompts 250 " }).waitFor(); // 1,000 / 4
  await page.locator("#search-stop").click();
  await closed(page);
});

test("sessions are the command line's, with as many requests as without", async () => {
  const page = await opened(home + "#plan?num_prompts=120&request_rate=4&turns=4&think=5");
  await answered(page, 1);
  const line = await page.locator("#line").textContent();
  assert.match(line, / --request-rate 1 --num-prompts 30 .*--turns 4 --think-time exponential:5/);
  const run = JSON.parse(typed(...line.split(" ").slice(1), "--no-store", "-o", "json"));
  assert.equal(run.workload.requests, 120);
  const shown = page.locator(".card", { hasText: "tokens/s" }).locator("data").first();
  assert.equal(Number(await shown.getAttribute("value")), run.output_tokens_per_s);
  await page.locator("#save").click();
  await page.locator("#told a").waitFor();
  await page.goto(home + "#runs");
  await page.locator("#runs a", { hasText: "Open" }).first().click();
  await answered(page, 2);
  assert.equal(await page.locator("#line").textContent(), line);
  await closed(page);
});

test("runs are named, compared in words and figures, and deleted", async () => {
  const asked = ["--model", "llama-3.1-8b", "--num-prompts", "50", "--request-rate", "5"];
  for (const gpu of ["l40s", "h100"])
    typed("simulate", ...asked, "--gpu", gpu, "--store", "browser.db");
  const listed = () => JSON.parse(typed("runs", "--store", "browser.db", "-o", "json")).runs;
  const [second, first] = listed().map((run) => run.id);
  const page = await opened(home + "#runs");
  await page.getByLabel(`Choose run ${first}`, { exact: true }).check();
  await page.getByLabel(`Name of run ${first}`).fill("one L40S");
  await page.getByLabel(`Name of run ${first}`).press("Enter");
  await page.getByText(`Run ${first} is named one L40S.`).waitFor();
  assert.equal(listed().find((run) => run.id === first).name, "one L40S");
  // The reader stays in the field, and what was chosen is.
  assert.equal(
    await page.evaluate(() => document.activeElement.getAttribute("aria-label")),
    `Name of run ${first}`,
  );
  await page.getByLabel(`Choose run ${second}`, { exact: true }).check();
  await page.locator("#compare").click();
  await page.locator("#comparison table").waitFor();
  const words = await page.locator("#comparison").textContent();
  assert.match(words, new RegExp(`Run ${first} \\(one L40S\\)`));
  assert.match(words, /\(better\)/); // an H100 decodes faster than an L40S
  assert.match(words, /\(worse\)/); // and costs more
  await expectCharts(page, 2, "#comparison-figures");
  await expectAccessible(page);
  await picture(page, "runs-compared");
  await page.getByRole("button", { name: `Delete run ${second}`, exact: true }).click();
  assert.ok(listed().some((run) => run.id === second)); // it asks once more
  await page.getByRole("button", { name: `Delete run ${second} for good?` }).click();
  await page.getByText(`Run ${second} is deleted.`).waitFor();
  assert.ok(!listed().some((run) => run.id === second));
  await closed(page);
});

test("operators of the roofline are named beside their points", async () => {
  const page = await opened(home + "#plan?num_prompts=100");
  await answered(page, 1);
  const roofline = page.locator("#figure-roofline svg");
  await roofline.scrollIntoViewIfNeeded();
  const words = await roofline.textContent();
  const named = ["attention", "lm_head", "mlp"].filter((name) => words.includes(name));
  assert.ok(named.length >= 2, `${named} in ${words}`);
  await closed(page);
  // On a phone none of them runs out of the picture.
  const phone = await opened(home + "#plan?num_prompts=100", { width: 390, height: 844 });
  await answered(phone, 1);
  const narrow = phone.locator("#figure-roofline svg");
  await narrow.scrollIntoViewIfNeeded();
  const cut = await narrow.evaluate((svg) => {
    const { left, right } = svg.getBoundingClientRect();
    return [...svg.querySelectorAll("text")]
      .filter((text) => {
        const box = text.getBoundingClientRect();
        return box.left < left - 1 || box.right > right + 1;
      })
      .map((text) => text.textContent);
  });
  assert.deepEqual(cut, []);
  await closed(phone);
});

test("a report opens offline from its file", async (t) => {
  if (!typed("--help").includes("\n  report ")) return t.skip("this program has no report");
  typed(
    "simulate",
    "--model",
    "llama-3.1-8b",
    "--gpu",
    "h100",
    "--request-rate",
    "10",
    "--slo",
    "p95:ttft:500ms",
    "--store",
    "report.db",
  );
  typed("report", "1", "--store", "report.db", "--html", "report.html");
  for (const dark of [false, true]) {
    const page = await opened("file://" + path.join(folder, "report.html"), { dark });
    await page.locator(".live svg").first().waitFor();
    await expectCharts(page, 1, ".live");
    await expectAccessible(page);
    await picture(page, dark ? "report-dark" : "report-light");
    await closed(page);
  }
});

test("a report of every kind can be used by everyone, on a phone too", async () => {
  const asked = ["--model", "llama-3.1-8b", "--gpu", "h100", "--request-rate", "4"];
  const small = ["--num-prompts", "20", "--input-len", "200", "--output-len", "20"];
  const kept = ["--slo", "p95:ttft:1s", "--store", "kinds.db"];
  const manifest = { schema_version: 1, cases: [{ name: "a", ask: "memory" }] };
  Object.assign(manifest.cases[0], {
    measured: { kv_blocks: 20000 },
    scenario: {
      schema_version: 1,
      model: "llama-3.1-8b",
      gpu: "h100",
      workload: {
        type: "synthetic",
        num_prompts: 1,
        request_rate: "inf",
        input_len: 1,
        output_len: 1,
      },
    },
  });
  fs.writeFileSync(path.join(folder, "kinds.json"), JSON.stringify(manifest));
  typed("simulate", ...asked, ...small, ...kept);
  typed("capacity", ...asked, ...small, ...kept);
  typed("plan", ...asked, ...small, ...kept);
  typed("whatif", ...asked, ...small, "--vary", "gpu=a100", "--seeds", "2", ...kept);
  typed("validate", "kinds.json", "--store", "kinds.db");
  const kinds = JSON.parse(typed("runs", "--store", "kinds.db", "-o", "json")).runs;
  const whats = new Map(kinds.map((run) => [run.kind, String(run.id)]));
  whats.set("ledger", "ledger");
  whats.set("profile", "h200");
  for (const [kind, what] of whats) {
    const store = kind === "profile" ? [] : ["--store", "kinds.db"];
    typed("report", what, ...store, "--html", kind + ".html");
    const page = await opened("file://" + path.join(folder, kind + ".html"), {
      width: 360,
      height: 740,
    });
    await page.locator("h1").waitFor();
    assert.ok(
      await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth),
      kind + " scrolls sideways",
    );
    await expectAccessible(page);
    await closed(page);
  }
});
