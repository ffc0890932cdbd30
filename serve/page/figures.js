// Figures of an answer: a chart, its caption, and its numbers as a table.
import { element, table } from "./element.js";
import { isDark, onTheme } from "./theme.js";

/// Figures that are out of view and not drawn yet: they are drawn once the page has nothing else to
/// do, or when they come into view.
const undrawn = new Set();

function countUndrawn() {
  document.body.dataset.undrawn = String(undrawn.size);
}

const whenIdle = window.requestIdleCallback || ((work) => setTimeout(work, 50));
let isWaiting = false;

function drawNext() {
  isWaiting = false;
  const [view] = undrawn;
  if (!view) return;
  view.draw();
  drawWhenIdle();
}

function drawWhenIdle() {
  if (isWaiting || undrawn.size === 0) return;
  isWaiting = true;
  whenIdle(drawNext, { timeout: 1000 });
}

addEventListener("beforeprint", () => [...undrawn].forEach((view) => view.draw()));

const MARGIN = 200; // pixels: a figure this near is drawn before it is scrolled to
const seen = new IntersectionObserver(
  (entries) => {
    for (const { target, isIntersecting } of entries) {
      target.view.in_view = isIntersecting;
      if (isIntersecting && undrawn.has(target.view)) target.view.draw();
    }
  },
  { rootMargin: `${MARGIN}px` },
);

const HEIGHT = 300;
const LOW_HEIGHT = 240; // for a few horizontal bars
const AROUND_BARS = 110;
const BAR = 26;

function heightOf(option) {
  const axis = Array.isArray(option.yAxis) ? option.yAxis[0] : option.yAxis;
  if (!axis || axis.type !== "category") return HEIGHT;
  return Math.max(LOW_HEIGHT, AROUND_BARS + BAR * axis.data.length);
}

class View {
  constructor(figure) {
    this.key = figure.key;
    this.place = element("div", { class: "chart", role: "img" });
    this.caption = element("figcaption");
    this.numbers = element("details");
    this.numbers.addEventListener("toggle", () => this.fill());
    this.root = element(
      "figure",
      { id: "figure-" + figure.key },
      element("h3", {}, figure.title),
      this.place,
      this.caption,
      this.numbers,
    );
    this.root.view = this;
    this.in_view = true; // until the observer says otherwise
    seen.observe(this.root);
  }

  show(figure) {
    this.option = figure.option;
    this.place.setAttribute("aria-label", `Chart: ${figure.title}. ${figure.caption}`);
    this.place.style.height = heightOf(figure.option) + "px";
    this.caption.textContent = figure.caption;
    this.figure = figure;
    if (!this.numbers.firstChild) this.numbers.append(element("summary", {}, "Numbers"));
    while (this.numbers.lastChild !== this.numbers.firstChild) this.numbers.lastChild.remove();
    this.fill();
    if (this.in_view) {
      this.draw();
    } else {
      undrawn.add(this);
      countUndrawn();
      drawWhenIdle();
    }
  }

  // Hundreds of cells, made once somebody looks.
  fill() {
    if (!this.numbers.open || this.numbers.children.length > 1) return;
    const { title, table: numbers } = this.figure;
    this.numbers.append(
      table(
        title,
        numbers.columns.map((column) => ({ ...column, title: column.title || "of" })),
        numbers.rows,
      ),
    );
  }

  // A hidden page has no width: draw once it is shown.
  draw() {
    undrawn.delete(this);
    countUndrawn();
    if (this.place.clientWidth === 0) return this.forget();
    if (this.chart) RoofcastCharts.update(this.chart, this.option);
    else this.chart = RoofcastCharts.mount(this.place, this.option, isDark());
  }

  forget() {
    if (this.chart) this.chart.dispose();
    this.chart = null;
  }

  end() {
    undrawn.delete(this);
    countUndrawn();
    seen.unobserve(this.root);
    this.forget();
    this.root.remove();
  }
}

/// Shows lists of figures in `place`, one list after another; a figure that stays keeps its chart.
export function figureList(place) {
  let views = [];
  onTheme(() =>
    views.forEach((view) => {
      view.forget();
      view.draw();
    }),
  );
  return (figures) => {
    const kept = [];
    for (const figure of figures) {
      const view = views.find((one) => one.key === figure.key) || new View(figure);
      if (!view.root.isConnected || kept.length !== views.indexOf(view)) place.append(view.root);
      view.show(figure);
      kept.push(view);
    }
    views.filter((view) => !kept.includes(view)).forEach((view) => view.end());
    views = kept;
  };
}
