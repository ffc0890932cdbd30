#include "model/io/config_fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/error.hpp"

namespace roofcast {

namespace {

using nlohmann::json;

constexpr JsonDialect kConfig{.place = "{where}: '{key}' ",
                              .refusal = "must be {expected}, not {value}",
                              .missing = "is missing",
                              .shows_structure = true};

/// Parts of keys that state a size of the model.
constexpr std::string_view kSizeEndings[] = {"_dim",   "_dims",  "_size",     "_sizes",
                                             "_head",  "_heads", "_rank",     "_ranks",
                                             "_width", "_layer", "_channels", "_layers"};
constexpr std::string_view kSizeParts[] = {"expert", "hidden", "intermediate", "latent"};

/// Keys of those forms that published configs have and that change no weight, cache or operator
/// beyond what is counted: kernels' tiles, search, routing, rotary parts of a head, sums of others,
/// layers without effect on their shapes, and how a checkpoint was trained.
constexpr std::string_view kNoShape[] = {"chunk_size",
                                         "encoder_no_repeat_ngram_size",
                                         "ep_size",
                                         "expert_capacity",
                                         "group_size",
                                         "image_size",
                                         "mamba_chunk_size",
                                         "max_window_layers",
                                         "mm_hidden_size",
                                         "mtp_transformer_layers",
                                         "no_repeat_ngram_size",
                                         "num_expert_group",
                                         "patch_size",
                                         "qk_head_dim",
                                         "rotary_dim",
                                         "time_step_rank",
                                         "type_vocab_size",
                                         "attn_res_block_size"};

bool names_a_size(std::string_view key) {
  const auto ends = [key](std::string_view ending) { return key.ends_with(ending); };
  const auto holds = [key](std::string_view part) { return key.find(part) != key.npos; };
  return (std::ranges::any_of(kSizeEndings, ends) || std::ranges::any_of(kSizeParts, holds)) &&
         std::ranges::find(kNoShape, key) == std::end(kNoShape);
}

bool is_size(const json& value) {
  if (value.is_array()) return std::ranges::any_of(value, is_size);
  return value.is_number_integer() && value > 1;
}

}  // namespace

Fields::Fields(const json& object, std::string where)
    : JsonReader(object, std::move(where), kConfig) {
  if (!object.is_object()) {
    throw Error(
        fmt::format("{}: expected a JSON object, found {}", this->where(), shown_value(object)));
  }
}

bool Fields::has(std::string_view key) const {
  note(key);
  return JsonReader::has(key);
}

std::optional<std::string_view> Fields::first_of(Names names) const {
  pass_over(names);
  for (const std::string_view name : names) {
    if (has(name)) return name;
  }
  return std::nullopt;
}

void Fields::pass_over(Names names) const {
  for (const std::string_view name : names) note(name);
}

void Fields::check_sizes_understood(std::string_view family) const {
  for (const auto& [key, value] : value().items()) {
    if (asked_->contains(key) || !names_a_size(key) || !is_size(value)) continue;
    fail(key,
         fmt::format("is {}: a size that {} models are not known to have, so that their memory "
                     "and time would be a guess",
                     shown_value(value), family));
  }
}

std::string Fields::inside(std::string_view key) const {
  return fmt::format("{}: {}", where(), key);
}

std::optional<std::int64_t> Fields::integer(Names names, std::int64_t min, std::int64_t max) const {
  const auto key = first_of(names);
  return key ? JsonReader::integer(*key, min, max) : std::nullopt;
}

std::int64_t Fields::size(Names names, std::int64_t largest) const {
  if (const auto size = integer(names, 1, largest)) return *size;
  throw Error(fmt::format("{}: '{}' is missing", where(), fmt::join(names, "' or '")));
}

std::int64_t Fields::size_or(Names names, std::int64_t fallback, std::int64_t largest) const {
  return integer(names, 1, largest).value_or(fallback);
}

std::optional<std::int64_t> Fields::count(Names names, std::int64_t largest) const {
  return integer(names, 0, largest);
}

std::int64_t Fields::count_or(Names names, std::int64_t fallback, std::int64_t largest) const {
  return count(names, largest).value_or(fallback);
}

std::optional<double> Fields::number(Names names) const {
  const auto key = first_of(names);
  return key ? JsonReader::number(*key) : std::nullopt;
}

bool Fields::flag(Names names, bool fallback) const {
  const auto key = first_of(names);
  return key ? *JsonReader::flag(*key) : fallback;
}

std::string Fields::text(Names names, std::string fallback) const {
  const auto key = first_of(names);
  return key ? *JsonReader::text(*key) : fallback;
}

std::vector<std::int64_t> Fields::counts(std::string_view key) const {
  note(key);
  std::vector<std::int64_t> values;
  const json* const items = list(key);
  if (items == nullptr) return values;
  for (const json& item : *items) values.push_back(integer_at(key, item, 0, kLongestContext));
  return values;
}

std::vector<std::string> Fields::texts(std::string_view key) const {
  note(key);
  std::vector<std::string> values;
  const json* const items = list(key);
  if (items == nullptr) return values;
  for (const json& item : *items) {
    if (!item.is_string()) {
      fail(key, fmt::format("must be a list of strings, not {}", shown_value(item)));
    }
    values.push_back(item.get<std::string>());
  }
  return values;
}

std::vector<Fields> Fields::objects(std::string_view key) const {
  note(key);
  std::vector<Fields> values;
  const json* const items = list(key);
  if (items == nullptr) return values;
  for (std::size_t i = 0; i < items->size(); ++i) {
    values.emplace_back((*items)[i], fmt::format("{}: {}[{}]", where(), key, i));
  }
  return values;
}

bool Fields::is_object(std::string_view key) const { return has(key) && find(key)->is_object(); }

bool Fields::is_list(std::string_view key) const { return has(key) && find(key)->is_array(); }

bool Fields::is_text(std::string_view key) const { return has(key) && find(key)->is_string(); }

std::optional<Fields> Fields::object(std::string_view key) const {
  note(key);
  const json* const found = find(key);
  return found == nullptr ? std::nullopt : std::optional(Fields(*found, inside(key)));
}

std::vector<std::pair<std::string, Fields>> Fields::members() const {
  std::vector<std::pair<std::string, Fields>> all;
  for (const auto& [key, found] : value().items()) {
    if (found.is_object()) all.emplace_back(key, Fields(found, inside(key)));
  }
  return all;
}

}  // namespace roofcast
