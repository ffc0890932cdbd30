// The charts of all figures, drawn by Apache ECharts: in a page (mount) and, without a browser, as
// SVG text (svg). One file for both, so that a figure looks the same wherever it is shown. Written
// in ES5, the language of the interpreter inside the program; esbuild only bundles.
import * as echarts from "echarts/core";
import { BarChart, CustomChart, LineChart, ScatterChart } from "echarts/charts";
import {
  AriaComponent,
  GridComponent,
  LegendComponent,
  MarkLineComponent,
  MarkPointComponent,
  TitleComponent,
  TooltipComponent,
} from "echarts/components";
import { SVGRenderer } from "echarts/renderers";

echarts.use([
  AriaComponent,
  BarChart,
  CustomChart,
  GridComponent,
  LegendComponent,
  LineChart,
  MarkLineComponent,
  MarkPointComponent,
  ScatterChart,
  SVGRenderer,
  TitleComponent,
  TooltipComponent,
]);

// Okabe and Ito (2008): told apart with every common form of colour blindness. Their yellow comes
// last, being the faintest on white.
var LIGHT = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000"];
var DARK = ["#56b4e9", "#e69f00", "#2fc49a", "#e6a5c8", "#4d9de0", "#f0e442", "#ffffff"];

function theme(palette, text, faint, ground) {
  function axis() {
    return {
      axisLine: { lineStyle: { color: text } },
      axisTick: { lineStyle: { color: text } },
      axisLabel: { color: text },
      nameTextStyle: { color: text },
      splitLine: { lineStyle: { color: faint } },
    };
  }
  return {
    color: palette,
    backgroundColor: "transparent",
    textStyle: { color: text },
    title: { textStyle: { color: text }, subtextStyle: { color: text } },
    legend: { textStyle: { color: text }, inactiveColor: faint },
    tooltip: { backgroundColor: ground, borderColor: faint, textStyle: { color: text } },
    valueAxis: axis(),
    logAxis: axis(),
    categoryAxis: axis(),
    markLine: { label: { color: text } },
  };
}

echarts.registerTheme("light", theme(LIGHT, "#333840", "#dfe3e8", "#ffffff"));
echarts.registerTheme("dark", theme(DARK, "#d5d9e0", "#3a414b", "#20242b"));

// A line from low to high with short ends: data of [x, low, high].
function whisker(params, api) {
  var low = api.coord([api.value(0), api.value(1)]);
  var high = api.coord([api.value(0), api.value(2)]);
  var half = 4;
  var style = { stroke: api.visual("color"), lineWidth: 1.5 };
  function line(x1, y1, x2, y2) {
    return { type: "line", shape: { x1: x1, y1: y1, x2: x2, y2: y2 }, style: style };
  }
  return {
    type: "group",
    children: [
      line(low[0], low[1], high[0], high[1]),
      line(low[0] - half, low[1], low[0] + half, low[1]),
      line(high[0] - half, high[1], high[0] + half, high[1]),
    ],
  };
}

var RENDERED_BY = { whisker: whisker };

// Four digits, thousands separated.
function shown(value) {
  if (value instanceof Array) {
    return value.map(shown).join(", ");
  }
  if (typeof value !== "number" || !isFinite(value)) {
    return value === undefined || value === null ? "" : String(value);
  }
  return echarts.format.addCommas(Number(value.toPrecision(4)));
}

// What JSON cannot hold: functions, named in the option by a word.
function completed(option) {
  var series = option.series || [];
  for (var i = 0; i < series.length; i++) {
    if (typeof series[i].renderItem === "string") {
      series[i].renderItem = RENDERED_BY[series[i].renderItem];
    }
  }
  if (option.tooltip) {
    option.tooltip.valueFormatter = shown;
  }
  return option;
}

// The SVG document of an option (JSON text). `key` begins the ids inside, so that several may share
// a page. Left out is what only answers to a pointer, whose names count up from chart to chart. Text
// is centred by `dy`: not every viewer knows `dominant-baseline`.
export function svg(optionText, width, height, key) {
  var chart = echarts.init(null, "light", {
    renderer: "svg",
    ssr: true,
    width: width,
    height: height,
  });
  var option = completed(JSON.parse(optionText));
  option.animation = false;
  chart.setOption(option);
  var text = chart.renderToSVGString();
  chart.dispose();
  return text
    .replace(/<style[^]*?<\/style>\n?/g, "")
    .replace(/ class="[^"]*"/g, "")
    .replace(/ pointer-events="[^"]*"/g, "")
    .replace(/dominant-baseline="central"/g, 'dy="0.35em"')
    .replace(/\bzr\d+-/g, key + "-");
}

// Draws an option (an object, kept by the chart) into an element that has a size; follows its size.
// Returns the chart: setOption to change it, dispose to end it.
export function mount(element, option, isDark) {
  var chart = echarts.init(element, isDark ? "dark" : "light", { renderer: "svg" });
  chart.setOption(completed(option));
  if (typeof ResizeObserver !== "undefined") {
    new ResizeObserver(function () {
      if (!chart.isDisposed()) {
        chart.resize();
      }
    }).observe(element);
  }
  return chart;
}

// A changed option for a chart that is mounted.
export function update(chart, option) {
  chart.setOption(completed(option), { notMerge: true });
}
