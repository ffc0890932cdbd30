#include "reports/importers/json_tree.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <istream>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/io/shown.hpp"

namespace roofcast {
namespace {

using nlohmann::json;

constexpr std::size_t kDeepest = 32;
constexpr std::size_t kMaxValues = 20'000'000;  // 10,000 requests with 2,000 gaps each
constexpr std::size_t kKeptText = 4'096;

/// Builds the tree from the parser's events.
class TreeHandler {
 public:
  json root;
  std::string problem;

  bool null() { return add(nullptr); }
  bool boolean(bool value) { return add(value); }
  bool number_integer(json::number_integer_t value) { return add(value); }
  bool number_unsigned(json::number_unsigned_t value) { return add(value); }
  bool number_float(json::number_float_t value, const std::string&) { return add(value); }
  bool string(std::string& text) {
    text.resize(std::min(text.size(), kKeptText));
    return add(std::move(text));
  }
  bool binary(json::binary_t&) { return fail("is not JSON"); }

  bool start_object(std::size_t) { return open(json::object()); }
  bool start_array(std::size_t) { return open(json::array()); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  bool key(std::string& name) {
    key_ = std::move(name);
    return true;
  }

  bool parse_error(std::size_t, const std::string& token, const json::exception&) {
    return fail(fmt::format("is not JSON at '{}'", shown(token)));
  }

 private:
  bool fail(std::string text) {
    if (problem.empty()) problem = std::move(text);
    return false;
  }

  /// Stores a value at the current position; if a key is repeated, the last value wins.
  json* place(json value) {
    if (open_.empty()) return &(root = std::move(value));
    json& parent = *open_.back();
    if (parent.is_array()) return &parent.emplace_back(std::move(value));
    return &(parent[key_] = std::move(value));
  }

  bool add(json value) {
    if (++values_ > kMaxValues) return fail(fmt::format("holds over {} values", kMaxValues));
    place(std::move(value));
    return true;
  }

  bool open(json container) {
    if (open_.size() == kDeepest) return fail(fmt::format("nests deeper than {} levels", kDeepest));
    if (++values_ > kMaxValues) return fail(fmt::format("holds over {} values", kMaxValues));
    open_.push_back(place(std::move(container)));
    return true;
  }

  bool close() {
    open_.pop_back();
    return true;
  }

  std::vector<json*> open_;  // pointers stay valid: only the innermost container grows
  std::string key_;
  std::size_t values_ = 0;
};

}  // namespace

json read_json_document(JsonBuffer& text, const std::string& name) {
  TreeHandler handler;
  std::istream stream(&text);
  if (json::sax_parse(stream, &handler, json::input_format_t::json, false)) {
    return std::move(handler.root);
  }
  throw Error(fmt::format("{}:{}: {}", name, text.line(), handler.problem));
}

}  // namespace roofcast
