#include "validate/manifest_formula.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <vector>

#include "base/error.hpp"
#include "base/io/shown.hpp"
#include "base/quantity.hpp"

namespace roofcast {
namespace {

bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

/// Recursive descent: a sum of products of values. An empty column makes `empty_` true and counts
/// as 1 from there on, so that the rest is still checked.
class Formula {
 public:
  Formula(std::string_view text, const ColumnNumber& column, const std::string& place)
      : text_(text), column_(column), place_(place) {}

  std::optional<double> value() {
    const double result = sum();
    if (at_ < text_.size()) fail("an operator");
    if (empty_) return std::nullopt;
    if (!std::isfinite(result)) fail("a finite result");
    return result;
  }

 private:
  [[noreturn]] void fail(const std::string& expected) const {
    constexpr std::size_t kShown = 80;
    throw Error(fmt::format("{}: formula '{}', at character {}: expected {}", place_,
                            shown(std::string(text_), kShown), at_ + 1, expected));
  }

  char next() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }

  bool takes(char symbol) {
    if (next() != symbol) return false;
    ++at_;
    return true;
  }

  void expect(char symbol) {
    if (!takes(symbol)) fail(fmt::format("'{}'", symbol));
  }

  double sum() {
    double result = product();
    for (;;) {
      if (takes('+')) {
        result += product();
      } else if (takes('-')) {
        result -= product();
      } else {
        next();
        return result;
      }
    }
  }

  double product() {
    double result = single();
    for (;;) {
      if (takes('*')) {
        result *= single();
      } else if (takes('/')) {
        result /= single();
      } else {
        return result;
      }
    }
  }

  double single() {
    constexpr int kDeepest = 100;
    if (++depth_ > kDeepest) fail("fewer parentheses");
    const double result = unnested_single();
    --depth_;
    return result;
  }

  double unnested_single() {
    const char c = next();
    if (takes('-')) return -single();
    if (takes('(')) {
      const double result = sum();
      expect(')');
      return result;
    }
    if (takes('\'')) return quoted_column();
    if (is_digit(c) || c == '.') return number();
    if (is_letter(c)) return named();
    fail("a number, a column or '('");
  }

  double number() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && (is_digit(text_[at_]) || text_[at_] == '.')) ++at_;
    const auto value = to_number<double>(std::string(text_.substr(begin, at_ - begin)));
    if (!value) {
      at_ = begin;
      fail("a number");
    }
    return *value;
  }

  double quoted_column() {
    const std::size_t end = text_.find('\'', at_);
    if (end == std::string_view::npos) fail("a closing quote");
    const std::string name(text_.substr(at_, end - at_));
    at_ = end + 1;
    return number_in(name);
  }

  double number_in(const std::string& name) {
    const std::optional<double> value = column_(name);
    if (!value) empty_ = true;
    return value.value_or(1);
  }

  double named() {
    const std::size_t begin = at_;
    while (at_ < text_.size() &&
           (is_letter(text_[at_]) || is_digit(text_[at_]) || text_[at_] == '.')) {
      ++at_;
    }
    const std::string name(text_.substr(begin, at_ - begin));
    return next() == '(' ? function(name, begin) : number_in(name);
  }

  double function(const std::string& name, std::size_t begin) {
    expect('(');
    std::vector<double> values = {sum()};
    while (takes(',')) values.push_back(sum());
    expect(')');
    if (name == "min") return *std::min_element(values.begin(), values.end());
    if (name == "max") return *std::max_element(values.begin(), values.end());
    if (values.size() == 1) {
      if (name == "ceil") return std::ceil(values.front());
      if (name == "floor") return std::floor(values.front());
      if (name == "round") return std::round(values.front());
    }
    at_ = begin;
    fail("ceil, floor or round of one value, or min or max");
  }

  std::string_view text_;
  const ColumnNumber& column_;
  const std::string& place_;
  std::size_t at_ = 0;
  int depth_ = 0;
  bool empty_ = false;
};

}  // namespace

std::optional<double> formula_value(std::string_view formula, const ColumnNumber& column,
                                    const std::string& place) {
  return Formula(formula, column, place).value();
}

}  // namespace roofcast
