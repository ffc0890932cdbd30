#include "reports/cells.hpp"

#include <fmt/format.h>

#include <cmath>

#include "base/text.hpp"

namespace roofcast {

Cell followed(Printed figure, std::string_view words) {
  figure.text += words;
  if (figure.number.empty()) return figure;
  std::string_view remark = trimmed(words, " ,;:");
  if (remark.starts_with('(') && remark.find(')') == remark.size() - 1) {
    remark = remark.substr(1, remark.size() - 2);
  }
  figure.remark += (figure.remark.empty() || remark.empty() ? "" : ", ") + std::string(remark);
  return figure;
}

Printed signed_by(std::string_view sign, Printed figure) {
  figure.text.insert(0, sign);
  if (sign == "$") figure.unit = "$";
  return figure;
}

Printed in(double value, int decimals, std::string_view unit) {
  Printed figure = printed::fixed(value, decimals);
  figure.text += unit == "x" ? "x" : fmt::format(" {}", unit);
  figure.unit = unit;
  return figure;
}

Printed in_giga(double value, int decimals, const std::string& unit) {
  Printed figure = printed::fixed(value / 1e9, decimals);
  figure.text += " G" + unit;
  if (!figure.number.empty()) {
    figure.number = fmt::format("{:.0f}", std::stod(figure.number) * 1e9);
  }
  figure.unit = unit;
  return figure;
}

Printed signed_percent(double share, int decimals) {
  const bool negative = fmt::format("{:+.{}f}", 100 * share, decimals).starts_with('-');
  const Printed size = printed::percent(std::abs(share), decimals);
  return {(negative ? "-" : "+") + size.text, (negative ? "-" : "") + size.number, "%"};
}

Printed verbatim(std::string digits) {
  std::string text = digits;
  return {std::move(text), std::move(digits)};
}

Cell range(Printed low, Printed high) {
  Cell cell = std::move(low);
  cell.text += " to " + high.text;
  cell.to = std::move(high);
  return cell;
}

}  // namespace roofcast
