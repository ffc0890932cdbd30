#include "reports/svg_marks.hpp"

#include <fmt/format.h>

#include <array>

#include "reports/svg_text.hpp"

namespace roofcast {
namespace {

/// Colours that stand out on white and on black; then the marks' shapes differ.
constexpr std::array<std::string_view, 6> kColours = {"#0072B2", "#D55E00", "#009E73",
                                                      "#CC79A7", "#E69F00", "#56B4E9"};
constexpr std::size_t kShapes = 5;

constexpr std::string_view kStyle = R"(<style>
svg { background: #ffffff; font-family: system-ui, sans-serif; }
text { fill: #222222; font-size: 12px; }
.head { font-size: 15px; font-weight: 600; }
.title { font-weight: 600; text-anchor: middle; }
.axis { text-anchor: middle; }
.tick { font-size: 11px; text-anchor: middle; }
.end { text-anchor: end; }
.frame { fill: none; stroke: #777777; }
.grid { stroke: #e2e2e2; fill: none; }
.diagonal { stroke: #444444; }
.band { stroke: #888888; stroke-dasharray: 4 4; }
.line { fill: none; stroke-width: 1.5; }
.whisker { fill: none; stroke-width: 1; }
.mark { fill-opacity: 0.8; stroke: #ffffff; stroke-width: 0.5; }
@media (prefers-color-scheme: dark) {
  svg { background: #16181b; }
  text { fill: #e6e6e6; }
  .grid { stroke: #2c3036; }
  .diagonal { stroke: #cccccc; }
  .mark { stroke: #16181b; }
}
</style>
)";

/// An element without its end.
std::string shape(std::size_t kind, double x, double y) {
  const double r = kMarkSize;
  switch (kind % kShapes) {
    case 0:
      return fmt::format("<circle cx=\"{:.2f}\" cy=\"{:.2f}\" r=\"{:.2f}\"", x, y, r);
    case 1:
      return fmt::format("<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\"",
                         x - r, y - r, 2 * r, 2 * r);
    case 2:
      return fmt::format("<path d=\"M{:.2f} {:.2f}l{:.2f} {:.2f}h{:.2f}z\"", x, y - 1.2 * r,
                         1.2 * r, 2.1 * r, -2.4 * r);
    case 3:
      return fmt::format("<path d=\"M{:.2f} {:.2f}l{:.2f} {:.2f}l{:.2f} {:.2f}l{:.2f} {:.2f}z\"", x,
                         y - 1.35 * r, 1.35 * r, 1.35 * r, -1.35 * r, 1.35 * r, -1.35 * r,
                         -1.35 * r);
    default:
      return fmt::format("<path d=\"M{:.2f} {:.2f}l{:.2f} {:.2f}h{:.2f}z\"", x, y + 1.2 * r,
                         1.2 * r, -2.1 * r, -2.4 * r);
  }
}

}  // namespace

std::string_view svg_colour(std::size_t kind) { return kColours[kind % kColours.size()]; }

std::string svg_mark(std::size_t kind, double x, double y, const std::string& label) {
  std::string text =
      shape(kind, x, y) + fmt::format(" class=\"mark\" fill=\"{}\"", svg_colour(kind));
  if (label.empty()) return text + "/>\n";
  const std::string_view element = text;
  const std::string name(element.substr(1, element.find(' ') - 1));
  return text + "><title>" + svg_escaped(label) + "</title></" + name + ">\n";
}

std::string_view svg_style() { return kStyle; }

}  // namespace roofcast
