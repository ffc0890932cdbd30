#include "reports/figures/stacked_svg.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "reports/figures/chart_option.hpp"
#include "reports/figures/chart_renderer.hpp"

namespace roofcast {
namespace {

constexpr int kPanelTitleHeight = 36;

/// Escapes text for an XML element.
std::string escaped(const std::string& text) {
  std::string result;
  for (const char letter : text) {
    result += letter == '<'   ? "&lt;"
              : letter == '>' ? "&gt;"
              : letter == '&' ? "&amp;"
                              : std::string(1, letter);
  }
  return result;
}

}  // namespace

std::string stacked_svg(const std::string& title, std::span<const Figure> figures) {
  ChartRenderer renderer;
  std::string body;
  int width = 0, height = kPanelTitleHeight;
  for (const Figure& figure : figures) {
    const ChartSize size = chart_size(figure);
    body += fmt::format(
        "<g transform=\"translate(0 {})\">{}</g>\n", height,
        renderer.svg(chart_option(figure, ChartTitle::inside), size, figure_id(figure)));
    width = std::max(width, size.width);
    height += size.height;
  }
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" "
      "viewBox=\"0 0 {0} {1}\">\n<rect width=\"{0}\" height=\"{1}\" fill=\"#ffffff\"/>\n"
      "<text x=\"8\" y=\"24\" font-family=\"sans-serif\" font-size=\"16\" "
      "fill=\"#333840\">{2}</text>\n"
      "{3}</svg>\n",
      width, height, escaped(title), body);
}

}  // namespace roofcast
