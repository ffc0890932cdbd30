// Figures of an answer: a chart, its caption, and its numbers as a table.
import { element, table } from "./element.js";
import { isDark, onTheme } from "./theme.js";

const HEIGHT = 300;
const LOW_HEIGHT = 240; // for horizontal bars

function lies(option) {
  const axis = Array.isArray(option.yAxis) ? option.yAxis[0] : option.yAxis;
  return axis && axis.type === "category";
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
  }

  show(figure) {
    this.option = figure.option;
    this.place.setAttribute("aria-label", `Chart: ${figure.title}. ${figure.caption}`);
    this.place.style.height = (lies(figure.option) ? LOW_HEIGHT : HEIGHT) + "px";
    this.caption.textContent = figure.caption;
    this.figure = figure;
    if (!this.numbers.firstChild) this.numbers.append(element("summary", {}, "Numbers"));
    while (this.numbers.lastChild !== this.numbers.firstChild) this.numbers.lastChild.remove();
    this.fill();
    if (this.chart && this.place.clientWidth > 0)
      RoofcastCharts.update(this.chart, this.option);
    else this.draw();
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
    if (this.chart) this.chart.dispose();
    this.chart = null;
    if (this.place.clientWidth === 0) return;
    this.chart = RoofcastCharts.mount(this.place, this.option, isDark());
  }

  end() {
    if (this.chart) this.chart.dispose();
    this.root.remove();
  }
}

/// Shows lists of figures in `place`, one list after another; a figure that stays keeps its chart.
export function figureList(place) {
  let views = [];
  onTheme(() => views.forEach((view) => view.draw()));
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
