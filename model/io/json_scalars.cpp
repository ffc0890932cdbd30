#include "model/io/json_scalars.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/error.hpp"

namespace roofcast {

namespace {

/// SAX handler for nlohmann's parser, which prescribes the function names.
class ScalarEvents : public nlohmann::json_sax<nlohmann::json> {
 public:
  ScalarEvents(const std::string& where, std::size_t max_levels, const OnJsonScalar& on_scalar)
      : where_(where), max_levels_(max_levels), on_scalar_(on_scalar) {}

  bool null() override { return scalar(std::monostate{}); }
  bool boolean(bool value) override { return scalar(value); }
  bool number_integer(number_integer_t value) override { return scalar(std::int64_t{value}); }
  bool number_unsigned(number_unsigned_t value) override { return scalar(std::uint64_t{value}); }
  bool number_float(number_float_t value, const string_t&) override { return scalar(value); }
  bool string(string_t& value) override { return scalar(value); }
  bool binary(binary_t&) override { return false; }

  bool start_object(std::size_t) override { return open(JsonStep{}); }
  bool end_object() override { return close(); }
  bool start_array(std::size_t) override { return open(JsonStep{.key = {}, .index = 0}); }
  bool end_array() override { return close(); }
  bool key(string_t& name) override {
    path_.back().key = name;
    return true;
  }

  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception& /*error*/) override {
    throw Error(fmt::format("{}: not valid JSON near byte {}", where_, position));
  }

 private:
  bool scalar(const JsonScalar& value) {
    on_scalar_(path_, value);
    next_element();
    return true;
  }

  bool open(JsonStep step) {
    if (path_.size() == max_levels_) {
      throw Error(
          fmt::format("{}: JSON nested deeper than the {} levels expected", where_, max_levels_));
    }
    path_.push_back(std::move(step));
    return true;
  }

  bool close() {
    path_.pop_back();
    next_element();
    return true;
  }

  void next_element() {
    if (!path_.empty() && path_.back().index >= 0) ++path_.back().index;
  }

  const std::string& where_;
  std::size_t max_levels_;
  const OnJsonScalar& on_scalar_;
  std::vector<JsonStep> path_;
};

}  // namespace

void for_each_json_scalar(const std::string& text, const std::string& where, std::size_t max_levels,
                          const OnJsonScalar& on_scalar) {
  ScalarEvents events(where, max_levels, on_scalar);
  nlohmann::json::sax_parse(text, &events);
}

}  // namespace roofcast
