#include "validate/measured_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "base/error.hpp"
#include "base/io/json_reader.hpp"
#include "base/io/shown.hpp"
#include "base/text.hpp"
#include "model/architecture/dtype.hpp"
#include "validate/server_arguments.hpp"

namespace roofcast {
namespace {

using nlohmann::json;

enum class Kind { count, share, on_or_off, dtype };

struct Option {
  std::string_view key;
  Kind kind;
};

constexpr std::array kOptions = {Option{"max_model_len", Kind::count},
                                 Option{"max_num_seqs", Kind::count},
                                 Option{"max_num_batched_tokens", Kind::count},
                                 Option{"block_size", Kind::count},
                                 Option{"max_prefill_tokens", Kind::count},
                                 Option{"num_gpu_blocks_override", Kind::count},
                                 Option{"gpu_memory_utilization", Kind::share},
                                 Option{"enable_chunked_prefill", Kind::on_or_off},
                                 Option{"enable_prefix_caching", Kind::on_or_off},
                                 Option{"enforce_eager", Kind::on_or_off},
                                 Option{"async_scheduling", Kind::on_or_off},
                                 Option{"enable_mixed_chunk", Kind::on_or_off},
                                 Option{"kv_cache_dtype", Kind::dtype}};

/// Text in lower case, for case-insensitive comparison: Python's True, JSON's true.
std::string word_of(const json& value) {
  return lower(value.is_string() ? value.get<std::string>() : value.dump());
}

bool is_unset(const json& value) {
  const std::string word = word_of(value);
  return word.empty() || word == "none" || word == "null" || word == "auto" || word == "nan";
}

[[noreturn]] void fail(std::string_view key, const json& value, std::string_view expected) {
  throw Error(fmt::format("{}: '{}' is not {}", key, shown(word_of(value), 40), expected));
}

json count_in(std::string_view key, const json& value) {
  constexpr double kMax = 1e15;
  const auto number = number_in(value);
  const bool whole = number && *number >= 1 && *number <= kMax && *number == std::floor(*number);
  if (!whole) fail(key, value, "a whole number of at least 1");
  return static_cast<std::int64_t>(*number);
}

json share_in(std::string_view key, const json& value) {
  const auto number = number_in(value);
  if (!number || !(*number > 0) || *number > 1) fail(key, value, "a share above 0 and up to 1");
  return *number;
}

json dtype_in(std::string_view key, const json& value) {
  const std::string word = word_of(value);
  // fp8_e4m3, fp8_inc and fp8_ds_mla are other layouts of fp8.
  const auto dtype = word.starts_with("fp8") ? DType::fp8 : parse_dtype(word);
  if (!dtype) fail(key, value, "a supported KV cache format (bfloat16, fp8)");
  return std::string(name_of(*dtype));
}

void put_option(json& options, const Option& option, const json& value) {
  const std::string key(option.key);
  switch (option.kind) {
    case Kind::count:
      options[key] = count_in(key, value);
      return;
    case Kind::share:
      options[key] = share_in(key, value);
      return;
    case Kind::dtype:
      options[key] = dtype_in(key, value);
      return;
    case Kind::on_or_off:
      options[key] = *switch_in(key, value);
  }
}

}  // namespace

std::optional<bool> switch_in(const std::string& key, const json& value) {
  if (is_unset(value)) return std::nullopt;
  const std::string word = word_of(value);
  if (word == "true" || word == "1" || word == "1.0" || word == "on" || word == "yes") return true;
  if (word == "false" || word == "0" || word == "0.0" || word == "off" || word == "no") {
    return false;
  }
  fail(key, value, "true or false");
}

json engine_options_of(const MeasuredSetting& setting) {
  json options = server_options_of(setting);
  for (const Option& option : kOptions) {
    const auto found = setting.other.find(std::string(option.key));
    if (found == setting.other.end()) continue;
    const json value = json::parse(found->second, nullptr, false);
    if (!value.is_discarded() && !is_unset(value)) put_option(options, option, value);
  }
  return options;
}

std::vector<std::string> engine_option_names() {
  std::vector<std::string> names;
  for (const Option& option : kOptions) names.emplace_back(option.key);
  return names;
}

bool is_engine_option(std::string_view key) {
  return is_server_argument(key) ||
         std::any_of(kOptions.begin(), kOptions.end(),
                     [&](const Option& option) { return option.key == key; });
}

}  // namespace roofcast
