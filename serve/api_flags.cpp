#include "serve/api_flags.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>

#include "base/error.hpp"
#include "base/io/shown.hpp"
#include "base/quantity.hpp"
#include "base/suggest.hpp"
#include "model/engines/knobs.hpp"
#include "model/io/gpu_reader.hpp"
#include "model/io/model_reader.hpp"

namespace roofcast {
namespace {

enum class FlagKind {
  plain,      // a number or a word
  model,      // of the catalogue
  gpu,        // built in
  engine,     // a preset
  lengths,    // of prompts and answers, but from no file
  requests,   // at most ApiLimits::max_requests
  tokens,     // at most ApiLimits::max_tokens
  replicas,   // at most ApiLimits::max_replicas
  sequences,  // at most ApiLimits::max_sequences
  prefix,     // at most ApiLimits::max_prefix_tokens
  growth,     // "10%/month"
  many,       // a list of plain ones
  on_off,     // with a value
  toggle,     // without
  runs        // ids, without a name
};

struct ApiFlag {
  std::string_view name;
  FlagKind kind = FlagKind::plain;
  std::string_view also{};
};

constexpr std::size_t kLongestValue = 200;
constexpr std::size_t kMaxValues = 50;

constexpr ApiFlag kMachine[] = {{"model", FlagKind::model},
                                {"gpu", FlagKind::gpu},
                                {"quantization"},
                                {"dtype"},
                                {"tensor-parallel-size", FlagKind::plain, "tp"},
                                {"pipeline-parallel-size", FlagKind::plain, "pp"},
                                {"data-parallel-size", FlagKind::plain, "dp"},
                                {"enable-expert-parallel", FlagKind::on_off, "ep"},
                                {"engine", FlagKind::engine}};

/// What SGLang calls several knobs at once, or the opposite of one.
constexpr ApiFlag kSglang[] = {{"chunked-prefill-size"},
                               {"disable-radix-cache", FlagKind::toggle},
                               {"disable-overlap-schedule", FlagKind::toggle}};

constexpr ApiFlag kLoad[] = {{"num-prompts", FlagKind::requests, "num-requests"},
                             {"request-rate"},
                             {"burstiness"},
                             {"input-len", FlagKind::lengths, "isl"},
                             {"output-len", FlagKind::lengths, "osl"},
                             {"prefix-len", FlagKind::prefix},
                             {"prefix-groups"},
                             {"random-range-ratio"},
                             {"normalised", FlagKind::on_off},
                             {"seed"},
                             {"max-concurrency"},
                             {"goodput", FlagKind::many},
                             {"slo", FlagKind::many},
                             {"replicas", FlagKind::replicas},
                             {"router"},
                             {"prefill-replicas", FlagKind::replicas},
                             {"decode-replicas", FlagKind::replicas},
                             {"kv-link"}};

constexpr ApiFlag kMemory[] = {{"solve"}, {"context"}, {"batch"}};
constexpr ApiFlag kEstimate[] = {{"batch"},
                                 {"input-len", FlagKind::plain, "isl"},
                                 {"output-len", FlagKind::plain, "osl"},
                                 {"ops", FlagKind::toggle}};
constexpr ApiFlag kStaircase[] = {{"prompt", FlagKind::tokens},
                                  {"generate", FlagKind::tokens},
                                  {"acceptance"},
                                  {"num-speculative-tokens"}};
constexpr ApiFlag kSimulate[] = {{"explain", FlagKind::toggle}};
constexpr ApiFlag kCapacity[] = {{"least-goodput"},
                                 {"explain", FlagKind::toggle},
                                 {"growth", FlagKind::growth},
                                 {"from"},
                                 {"lose-one", FlagKind::toggle}};
constexpr ApiFlag kCompare[] = {{"runs", FlagKind::runs}};

/// A knob of the engine: none of them names a file.
ApiFlag flag_of(const EngineKnob& knob) {
  if (knob.flag == "max-num-seqs") return {knob.flag, FlagKind::sequences};
  return {knob.flag, knob.kind == KnobKind::on_off ? FlagKind::on_off : FlagKind::plain};
}

/// Of a command: its own flags and the groups that it shares.
std::vector<ApiFlag> flags_of(const std::string& command) {
  if (command == "compare") return {std::begin(kCompare), std::end(kCompare)};
  std::vector<std::span<const ApiFlag>> groups = {kMachine, kSglang};
  if (command == "memory") groups.emplace_back(kMemory);
  if (command == "estimate") groups.emplace_back(kEstimate);
  if (command == "staircase") groups.emplace_back(kStaircase);
  if (command == "simulate") groups.insert(groups.end(), {kSimulate, kLoad});
  if (command == "capacity") groups.insert(groups.end(), {kCapacity, kLoad});
  const bool loaded = command == "simulate" || command == "capacity";
  std::vector<ApiFlag> flags;
  for (const auto& group : groups) flags.insert(flags.end(), group.begin(), group.end());
  for (const EngineKnob& knob : engine_knobs()) {
    if (loaded || knob.group != KnobGroup::features) flags.push_back(flag_of(knob));
  }
  return flags;
}

[[noreturn]] void refuse_unknown(const std::string& key, const std::vector<ApiFlag>& flags) {
  std::vector<std::string> names;
  for (const ApiFlag& flag : flags) names.emplace_back(flag.name);
  std::string message = fmt::format("no flag '{}' here", shown(key));
  const auto near = nearest(key, names);
  if (!near.empty()) message += fmt::format("; did you mean '{}'?", near.front());
  throw UsageError(message);
}

const ApiFlag& find_flag(const std::string& key, const std::vector<ApiFlag>& flags) {
  std::string name = key;
  std::replace(name.begin(), name.end(), '_', '-');
  const auto found = std::find_if(flags.begin(), flags.end(), [&](const ApiFlag& flag) {
    return name == flag.name || (!flag.also.empty() && name == flag.also);
  });
  if (found == flags.end()) refuse_unknown(key, flags);
  return *found;
}

/// A number as it is written in JSON, a text as it is.
std::string text_of(const ApiFlag& flag, const Json& value) {
  std::string text;
  if (value.is_string()) {
    text = value.get<std::string>();
  } else if (value.is_number()) {
    text = value.dump();
  } else if (value.is_boolean()) {
    text = value.get<bool>() ? "true" : "false";
  } else {
    throw UsageError(
        fmt::format("--{}: expected a text, a number or true or false, not {}", flag.name,
                    value.is_null() ? "null" : (value.is_array() ? "a list" : "an object")));
  }
  if (text.empty()) throw UsageError(fmt::format("--{}: the value is empty", flag.name));
  if (text.size() > kLongestValue) {
    throw UsageError(
        fmt::format("--{}: the value is longer than {} characters", flag.name, kLongestValue));
  }
  return text;
}

void check_letters(const ApiFlag& flag, const std::string& text, std::string_view allowed) {
  const auto is_allowed = [&](unsigned char letter) {
    return std::isalnum(letter) != 0 ||
           allowed.find(static_cast<char>(letter)) != std::string_view::npos;
  };
  if (std::all_of(text.begin(), text.end(), is_allowed)) return;
  throw UsageError(fmt::format("--{}: '{}' given, expected letters, digits and {} only", flag.name,
                               shown(text), allowed));
}

/// A name, never a path: nothing that begins like a flag or a hidden file.
void check_name(const ApiFlag& flag, const std::string& text) {
  check_letters(flag, text, "-._ ");
  if (text.front() != '-' && text.front() != '.') return;
  throw UsageError(fmt::format("--{}: '{}' given, expected a name", flag.name, shown(text)));
}

void check_model(const ApiFlag& flag, const std::string& text) {
  check_name(flag, text);
  std::vector<std::string> names;
  for (const CatalogueEntry& entry : catalogue()) names.push_back(entry.name);
  if (std::find(names.begin(), names.end(), text) == names.end()) {
    const auto near = nearest(text, names);
    const std::string hint = near.empty() ? "" : fmt::format("; did you mean '{}'?", near.front());
    throw UsageError(fmt::format("--model: no built-in model '{}'{}", shown(text), hint));
  }
  // The command would read it before the catalogue.
  std::error_code ignored;
  if (std::filesystem::exists(text, ignored)) {
    throw UsageError(fmt::format(
        "--model: a file or folder named '{}' lies where the server runs and hides the model",
        text));
  }
}

void check_requests(const ApiFlag& flag, const std::string& text, std::int64_t max,
                    const char* what) {
  const std::int64_t count = parse_count(text, "--" + std::string(flag.name));
  if (count <= max) return;
  throw UsageError(
      fmt::format("--{}: {} asked for, this server allows {} {}", flag.name, count, max, what));
}

std::string checked(const ApiFlag& flag, const Json& value, const ApiLimits& limits) {
  std::string text = text_of(flag, value);
  switch (flag.kind) {
    case FlagKind::model:
      check_model(flag, text);
      break;
    case FlagKind::gpu:
    case FlagKind::engine:
      check_name(flag, text);
      if (is_profile_path(text) || text.ends_with(".json")) {
        throw UsageError(fmt::format("--{}: expected a built-in name, no file", flag.name));
      }
      break;
    case FlagKind::lengths:
      check_letters(flag, text, "-._:+");
      if (text.starts_with("empirical")) {
        throw UsageError(fmt::format("--{}: lengths from a file are not taken here", flag.name));
      }
      break;
    case FlagKind::requests:
      check_requests(flag, text, limits.max_requests, "requests (--max-requests)");
      break;
    case FlagKind::tokens:
      check_requests(flag, text, limits.max_tokens, "tokens");
      break;
    case FlagKind::replicas:
      check_requests(flag, text, limits.max_replicas, "replicas");
      break;
    case FlagKind::sequences:
      check_requests(flag, text, limits.max_sequences, "sequences at once");
      break;
    case FlagKind::prefix:
      check_requests(flag, text, limits.max_prefix_tokens, "tokens");
      break;
    case FlagKind::growth:
      check_letters(flag, text, "-.%/");
      break;
    default:
      check_letters(flag, text, "-._:,+%");
  }
  return text;
}

const Json::array_t& list_of(const ApiFlag& flag, const Json& value) {
  if (value.is_array() && value.size() <= kMaxValues) {
    return value.get_ref<const Json::array_t&>();
  }
  throw UsageError(
      fmt::format("--{}: expected a list of at most {} values", flag.name, kMaxValues));
}

void add_runs(const ApiFlag& flag, const Json& value, std::vector<std::string>& arguments) {
  for (const Json& id : list_of(flag, value)) {
    if (!id.is_number_unsigned()) throw UsageError("--runs: expected ids of runs, as [1, 2]");
    arguments.push_back(id.dump());
  }
}

void add_flag(const ApiFlag& flag, const Json& value, const ApiLimits& limits,
              std::vector<std::string>& arguments) {
  const auto add = [&](const std::string& text) {
    arguments.push_back(fmt::format("--{}={}", flag.name, text));
  };
  if (flag.kind == FlagKind::runs) {
    add_runs(flag, value, arguments);
  } else if (flag.kind == FlagKind::toggle) {
    if (!value.is_boolean())
      throw UsageError(fmt::format("--{}: expected true or false", flag.name));
    if (value.get<bool>()) arguments.push_back(fmt::format("--{}", flag.name));
  } else if (flag.kind == FlagKind::many && value.is_array()) {
    for (const Json& one : list_of(flag, value)) add(checked(flag, one, limits));
  } else {
    add(checked(flag, value, limits));
  }
}

}  // namespace

const std::vector<std::string>& api_commands() {
  static const std::vector<std::string> names = {"memory",   "estimate", "staircase",
                                                 "simulate", "capacity", "compare"};
  return names;
}

std::vector<std::string> api_arguments(const std::string& command, const Json& flags,
                                       const ApiLimits& limits) {
  if (!flags.is_object()) {
    throw UsageError("expected a JSON object of flags, as {\"model\": \"llama-3.1-8b\"}");
  }
  const std::vector<ApiFlag> known = flags_of(command);
  std::vector<std::string> arguments;
  bool has_count = false;
  for (const auto& item : flags.items()) {
    const ApiFlag& flag = find_flag(item.key(), known);
    has_count = has_count || flag.kind == FlagKind::requests;
    add_flag(flag, item.value(), limits, arguments);
  }
  constexpr std::int64_t kDefaultRequests = 1000;  // of simulate
  if (command == "simulate" && !has_count && limits.max_requests < kDefaultRequests) {
    arguments.push_back(fmt::format("--num-prompts={}", limits.max_requests));
  }
  return arguments;
}

}  // namespace roofcast
