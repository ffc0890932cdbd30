// Draws all charts with Apache ECharts: in a page (mount) and, without a browser, as SVG (svg). One
// file for both, so that a figure looks the same everywhere. Written in ES5, which is what the
// embedded interpreter runs; esbuild only bundles.
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
import { LabelLayout } from "echarts/features";
import { SVGRenderer } from "echarts/renderers";
import { platformApi } from "zrender/lib/core/platform.js";

echarts.use([
  AriaComponent,
  BarChart,
  CustomChart,
  GridComponent,
  LabelLayout,
  LegendComponent,
  LineChart,
  MarkLineComponent,
  MarkPointComponent,
  ScatterChart,
  SVGRenderer,
  TitleComponent,
  TooltipComponent,
]);

// Okabe and Ito (2008): distinguishable with every common form of colour blindness. Their yellow is
// last, because it is the faintest on white.
var LIGHT = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000",
  // more for bars of many parts: Tol's muted scheme (2021), in its darker tones
  "#332288", "#882255", "#117733", "#999933", "#aa4499"];
var DARK = ["#56b4e9", "#e69f00", "#2fc49a", "#e6a5c8", "#4d9de0", "#f0e442", "#ffffff",
  "#9d8ce0", "#e07aa5", "#66c08a", "#cccc77", "#dd88cc"];

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
    // Names beside points, readable where they cross a line.
    scatter: { label: { color: text, textBorderColor: ground, textBorderWidth: 3 } },
  };
}

echarts.registerTheme("light", theme(LIGHT, "#333840", "#dfe3e8", "#ffffff"));
echarts.registerTheme("dark", theme(DARK, "#d5d9e0", "#3a414b", "#20242b"));

// A line between two points with short caps across its ends.
function whiskerBetween(api, low, high, acrossX, acrossY) {
  var style = { stroke: api.visual("color"), lineWidth: 1.5 };
  function line(from, to, dx, dy) {
    return {
      type: "line",
      shape: { x1: from[0] - dx, y1: from[1] - dy, x2: to[0] + dx, y2: to[1] + dy },
      style: style,
    };
  }
  return {
    type: "group",
    children: [
      line(low, high, 0, 0),
      line(low, low, acrossX, acrossY),
      line(high, high, acrossX, acrossY),
    ],
  };
}

var HALF = 4; // of a cap

// Renders data of [place, low, high], vertically and horizontally.
function whisker(params, api) {
  var at = api.value(0);
  return whiskerBetween(api, api.coord([at, api.value(1)]), api.coord([at, api.value(2)]), HALF, 0);
}

function lyingWhisker(params, api) {
  var at = api.value(0);
  return whiskerBetween(api, api.coord([api.value(1), at]), api.coord([api.value(2), at]), 0, HALF);
}

var RENDERED_BY = { whisker: whisker, lying_whisker: lyingWhisker };

// Four digits, with thousands separators.
function shown(value) {
  if (value instanceof Array) {
    return value.map(shown).join(", ");
  }
  if (typeof value !== "number" || !isFinite(value)) {
    return value === undefined || value === null ? "" : String(value);
  }
  return echarts.format.addCommas(Number(value.toPrecision(4)));
}

var LEGEND_FONT = "12px sans-serif";
var KEY_GAP = 5; // between an entry's symbol and its name
var ROW_HEIGHT = 14;
var EDGE = 4; // pixels left free beside names

// Rows of a legend after its first at this width.
function moreRows(legend, width) {
  var room = width * 0.94;
  var at = 0;
  var rows = 0;
  legend.data.forEach(function (name) {
    var item = legend.itemWidth + KEY_GAP + echarts.format.getTextRect(name, LEGEND_FONT).width;
    if (at > 0 && at + item > room) {
      rows++;
      at = 0;
    }
    at += item + legend.itemGap;
  });
  return rows;
}

// Top of the axes below the legend; the option leaves room for one legend row.
function gridTop(option, width) {
  if (!option.legend || !option.legend.data || option.legend.type === "scroll") {
    return option.grid.top;
  }
  return option.grid.top + moreRows(option.legend, width) * (ROW_HEIGHT + option.legend.itemGap);
}

// Names beside points stay inside the picture: one that would run out of it goes to the left and
// below its point. What the series' own layout says of names that cover others is kept.
function laidWithin(widthNow, layout) {
  return function (params) {
    var kept = {};
    for (var key in layout) {
      kept[key] = layout[key];
    }
    var over = params.labelRect.x + params.labelRect.width - (widthNow() - EDGE);
    if (over > 0) {
      kept.dx = -over;
      kept.dy = ROW_HEIGHT;
    }
    return kept;
  };
}

// Replaces names in the option by functions, which JSON cannot hold.
function completed(option, widthNow) {
  var series = option.series || [];
  for (var i = 0; i < series.length; i++) {
    if (typeof series[i].renderItem === "string") {
      series[i].renderItem = RENDERED_BY[series[i].renderItem];
    }
    if (series[i].labelLayout && typeof series[i].labelLayout !== "function") {
      series[i].labelLayout = laidWithin(widthNow, series[i].labelLayout);
    }
  }
  if (option.tooltip) {
    option.tooltip.valueFormatter = shown;
  }
  return option;
}

// Without a browser text is measured by ECharts' table of a narrow font. A reader's sans-serif may
// be DejaVu Sans, up to 17 % wider, in which a legend's names would cover the next symbol.
var WIDEST = 1.17;
if (typeof document === "undefined") {
  var measured = platformApi.measureText;
  echarts.setPlatformAPI({
    measureText: function (text, font) {
      return { width: WIDEST * measured(text, font).width };
    },
  });
}

// The SVG document of an option (JSON text). `key` prefixes the ids inside, so that a page can hold
// several. Parts that only serve the pointer are removed, because their ids count up from chart to
// chart. Text is centred by `dy`: not every viewer supports `dominant-baseline`.
export function svg(optionText, width, height, key) {
  var chart = echarts.init(null, "light", {
    renderer: "svg",
    ssr: true,
    width: width,
    height: height,
  });
  var option = completed(JSON.parse(optionText), function () {
    return width;
  });
  option.animation = false;
  if (option.grid) {
    option.grid.top = gridTop(option, width);
  }
  chart.setOption(option);
  var text = chart.renderToSVGString();
  chart.dispose();
  return text
    .replace(/<style[^]*?<\/style>\n?/g, "")
    .replace(/ class="[^"]*"/g, "")
    .replace(/ (pointer-events|ecmeta_\w+)="[^"]*"/g, "")
    .replace(/dominant-baseline="central"/g, 'dy="0.35em"')
    .replace(/\bzr\d+-/g, key + "-");
}

// Makes room for the legend's rows at the current width.
function fit(chart) {
  if (chart.shown.grid) {
    chart.setOption({ grid: { top: gridTop(chart.shown, chart.getWidth()) } });
  }
}

var NARROW = 560; // pixels: a phone

var MOST_ROWS = 4; // of a legend; a longer one is paged

// On a narrow screen a long legend is paged, and axis names need the room.
function narrowed(option, width) {
  if (option.legend && moreRows(option.legend, width) >= MOST_ROWS) {
    option.legend.type = "scroll";
  }
  if (option.grid) {
    option.grid.right = 14;
    option.grid.left = Math.min(option.grid.left, 62);
  }
  return option;
}

function show(chart, option, how) {
  var copy = JSON.parse(JSON.stringify(option));
  var width = chart.getWidth();
  chart.shown = width < NARROW ? narrowed(copy, width) : copy;
  chart.shown.animation = false; // a slider asks for the next picture before it would end
  var shown = completed(chart.shown, function () {
    return chart.getWidth();
  });
  if (!shown.grid) {
    chart.setOption(shown, how);
    return;
  }
  // Not set in chart.shown, from whose top fit() reckons.
  var fitted = {};
  for (var key in shown) {
    fitted[key] = shown[key];
  }
  fitted.grid = JSON.parse(JSON.stringify(shown.grid));
  fitted.grid.top = gridTop(shown, width);
  chart.setOption(fitted, how);
}

// Draws an option (an object) into an element that has a size, and redraws when the size changes.
// Returns the chart: call setOption to change it, dispose to remove it.
export function mount(element, option, isDark) {
  var chart = echarts.init(element, isDark ? "dark" : "light", { renderer: "svg" });
  show(chart, option, {});
  if (typeof ResizeObserver !== "undefined") {
    new ResizeObserver(function () {
      if (!chart.isDisposed()) {
        chart.resize();
        fit(chart);
      }
    }).observe(element);
  }
  return chart;
}

// Applies a changed option to a mounted chart.
export function update(chart, option) {
  show(chart, option, { notMerge: true });
}
