#include "serve/questions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "base/io/shown.hpp"
#include "base/keys.hpp"
#include "base/quantity.hpp"
#include "base/suggest.hpp"
#include "base/text.hpp"
#include "roofcast/built_in.hpp"
#include "roofcast/question_flags.hpp"

namespace roofcast {
namespace {

constexpr std::size_t kMaxValueSize = 200;
constexpr std::size_t kMaxValues = 50;   // of a list
constexpr std::int64_t kMaxPairs = 100;  // of a batch and a prompt length

/// A value as text, under the name of its flag; empty for a toggle.
struct NamedText {
  std::string_view flag{};
  std::string text{};
};

std::string key_of(std::string_view flag) {
  std::string key(flag);
  std::ranges::replace(key, '-', '_');
  return key;
}

/// A number as it is written in JSON, a text as it is.
std::string text_of(const std::string& key, const Json& value) {
  std::string text;
  if (value.is_string()) {
    text = value.get<std::string>();
  } else if (value.is_number()) {
    text = value.dump();
  } else if (value.is_boolean()) {
    text = value.get<bool>() ? "true" : "false";
  } else {
    throw UsageError(
        fmt::format("{}: expected a string, a number, true or false, not {}", key,
                    value.is_null() ? "null" : (value.is_array() ? "a list" : "an object")));
  }
  if (text.empty()) throw UsageError(key + ": the value is empty");
  if (text.size() <= kMaxValueSize) return text;
  throw UsageError(fmt::format("{}: the value is longer than {} characters", key, kMaxValueSize));
}

/// No value needs more than these, and none of them makes a path or another line of a message.
void check_letters(const std::string& key, const std::string& text) {
  const std::string_view others = key == "growth" ? "-.%/" : "-._:,+*% ";
  if (std::ranges::all_of(text, [&](unsigned char letter) {
        return std::isalnum(letter) != 0 ||
               others.find(static_cast<char>(letter)) != std::string_view::npos;
      })) {
    return;
  }
  throw UsageError(fmt::format("{}: '{}' given, only letters, digits and {} are allowed", key,
                               shown(text), others));
}

/// The texts of a value: one, or several of a list.
std::vector<std::string> texts_of(const std::string& key, const Json& value, bool is_list) {
  std::vector<std::string> texts;
  if (is_list && value.is_array()) {
    if (value.size() > kMaxValues) {
      throw UsageError(fmt::format("{}: expected a list of at most {} values", key, kMaxValues));
    }
    for (const Json& one : value) texts.push_back(text_of(key, one));
  } else {
    texts.push_back(text_of(key, value));
  }
  for (const std::string& text : texts) check_letters(key, text);
  return texts;
}

template <class Target>
const Flag<Target>& flag_named(const Flags<Target>& flags, const std::string& key) {
  std::string name = key;
  std::ranges::replace(name, '_', '-');
  const auto is_it = [&](const Flag<Target>& flag) {
    return flag.name == name || std::ranges::find(flag.aliases, "--" + name) != flag.aliases.end();
  };
  const auto found = std::ranges::find_if(flags, is_it);
  if (found != flags.end()) return *found;
  std::vector<std::string> names;
  for (const Flag<Target>& flag : flags) names.emplace_back(flag.name);
  const auto near = nearest(name, names);
  throw UsageError(
      fmt::format("unknown key '{}'{}", shown(key),
                  near.empty() ? "" : fmt::format("; did you mean '{}'?", key_of(near.front()))));
}

template <class Target>
void read_value(Target& target, const Flag<Target>& flag, const Json& value,
                std::vector<NamedText>& given) {
  const std::string key = key_of(flag.name);
  if (flag.form == FlagForm::toggle) {
    if (!value.is_boolean()) throw UsageError(key + ": expected true or false");
    if (!value.get<bool>()) return;
    flag.read(target, "true", key);
    given.push_back({flag.name});
    return;
  }
  for (std::string& text : texts_of(key, value, flag.form == FlagForm::list)) {
    flag.read(target, text, key);
    given.push_back({flag.name, std::move(text)});
  }
}

/// Sets `target` from the keys of `body`; returns what was given, in its order.
template <class Target>
std::vector<NamedText> read_body(Target& target, const Flags<Target>& flags, const Json& body) {
  if (!body.is_object()) {
    throw UsageError("expected a JSON object, such as {\"model\": \"llama-3.1-8b\"}");
  }
  std::vector<NamedText> given;
  std::set<std::string_view> names;
  for (const auto& item : body.items()) {
    const Flag<Target>& flag = flag_named(flags, item.key());
    if (!names.insert(flag.name).second) {
      throw UsageError(key_of(flag.name) + ": given twice");
    }
    read_value(target, flag, item.value(), given);
  }
  for (const Flag<Target>& flag : flags) {
    if (flag.required && !names.contains(flag.name)) {
      throw UsageError(key_of(flag.name) + " is missing");
    }
  }
  return given;
}

/// The flags that say what runs where, except those of features that only simulations have.
template <class Whole, class DeploymentOf>
void append_deployment_flags(Flags<Whole>& all, DeploymentOf deployment_of) {
  const auto overrides_of = [deployment_of](Whole& whole) -> EngineOverrides& {
    return std::invoke(deployment_of, whole).overrides;
  };
  append(all, machine_flags(), deployment_of);
  append(all, engine_choice_flags(), deployment_of);
  append(all, knob_flags(KnobGroup::memory_and_batch), overrides_of);
  append(all, knob_flags(KnobGroup::scheduler), overrides_of);
}

/// Whether clients may set it: stages, sessions and adapters have no bound here.
bool is_bounded(std::string_view flag) {
  return flag == "normalised" || flag == "random-range-ratio" || flag == "prefix-len" ||
         flag == "prefix-groups";
}

/// The flags of a scenario that clients may set: not its trace, which is a file.
const Flags<ScenarioOptions>& load_flags() {
  using S = ScenarioOptions;
  static const Flags<S> flags = [] {
    Flags<LoadShapeOptions> shape = load_shape_flags();
    std::erase_if(shape, [](const auto& flag) { return !is_bounded(flag.name); });
    Flags<EngineOverrides> features = knob_flags(KnobGroup::features);
    std::erase_if(features, [](const auto& flag) { return flag.name == "speculative-config"; });
    Flags<S> all;
    append_deployment_flags(all, &S::deployment);
    append(all, features, [](S& s) -> EngineOverrides& { return s.deployment.overrides; });
    append(all, synthetic_flags(), &S::workload);
    append(all, shape, [](S& s) -> LoadShapeOptions& { return s.workload.shape; });
    append(all, objective_flags(), &S::workload);
    append(all, cluster_flags(), &S::cluster);
    return all;
  }();
  return flags;
}

void check_at_most(const char* key, std::optional<std::int64_t> count, std::int64_t max,
                   const char* what) {
  if (count.value_or(0) <= max) return;
  throw UsageError(
      fmt::format("{}: {} requested, this server allows {} {}", key, *count, max, what));
}

/// Puts the path of an offered profile in place of its name.
void check_deployment(DeploymentOptions& options, const ApiLimits& limits) {
  const auto offered = std::ranges::find(limits.profiles, options.gpu, &OfferedProfile::name);
  DeploymentOptions others = options;
  if (offered != limits.profiles.end()) {
    others.gpu.clear();
    options.gpu = offered->path;
  }
  check_built_in(others);
  check_at_most("max_num_seqs", options.overrides.max_num_seqs, limits.max_sequences,
                "sequences at once");
}

void check_lengths(const char* key, const std::optional<LengthDistribution>& lengths) {
  if (lengths && lengths->kind == LengthDistribution::Kind::empirical) {
    throw UsageError(fmt::format("{}: lengths from a file are not accepted here", key));
  }
}

void check_load(ScenarioOptions& options, const ApiLimits& limits) {
  const WorkloadOptions& load = options.workload;
  const ClusterOptions& cluster = options.cluster;
  check_deployment(options.deployment, limits);
  check_lengths("input_len", load.input);
  check_lengths("output_len", load.output);
  check_at_most("num_prompts", load.num_prompts, limits.max_requests, "requests");
  check_at_most("replicas", cluster.replicas, limits.max_replicas, "replicas");
  check_at_most("prefill_replicas", cluster.prefill_replicas, limits.max_replicas, "replicas");
  check_at_most("decode_replicas", cluster.decode_replicas, limits.max_replicas, "replicas");
  if (load.shape.prefix_len) {  // of a distribution the longest is not known before it is drawn
    check_at_most("prefix_len", parse_count(*load.shape.prefix_len, "prefix_len"),
                  limits.max_prefix_tokens, "tokens");
  }
}

std::string command_line(const char* command, const std::vector<NamedText>& given) {
  std::string line = fmt::format("roofcast {}", command);
  for (const auto& [flag, text] : given) {
    const std::string word =
        text.empty() ? fmt::format("--{}", flag) : fmt::format("--{}={}", flag, text);
    line += " " + shell_quoted(word);
  }
  return line;
}

}  // namespace

MemoryQuestion asked_memory(const Json& body, const ApiLimits& limits) {
  using Q = MemoryQuestion;
  static const Flags<Q> flags = [] {
    Flags<Q> all = memory_flags();
    append_deployment_flags(all, &Q::deployment);
    return all;
  }();
  Q question;
  read_body(question, flags, body);
  refuse_idle_flags(question);
  check_deployment(question.deployment, limits);
  return question;
}

BatchesQuestion asked_estimate(const Json& body, const ApiLimits& limits) {
  using Q = BatchesQuestion;
  static const Flags<Q> flags = [] {
    Flags<Q> all = estimate_flags();
    // The document always lists every operator.
    all.push_back({.name = "ops",
                   .read = [](Q&, const std::string&, const std::string&) {},
                   .form = FlagForm::toggle});
    append_deployment_flags(all, &Q::deployment);
    return all;
  }();
  Q question;
  read_body(question, flags, body);
  refuse_idle_flags(question);
  check_deployment(question.deployment, limits);
  check_at_most("batch", std::ssize(question.batches) * std::ssize(question.input_tokens),
                kMaxPairs, "pairs of a batch and a prompt length");
  return question;
}

StaircaseQuestion asked_staircase(const Json& body, const ApiLimits& limits) {
  struct Asked {
    StaircaseQuestion question{};
    DeploymentOptions deployment{};
  };
  static const Flags<Asked> flags = [] {
    Flags<Asked> all;
    append(all, staircase_flags(), &Asked::question);
    append_deployment_flags(all, &Asked::deployment);
    return all;
  }();
  Asked asked;
  read_body(asked, flags, body);
  check_deployment(asked.deployment, limits);
  check_at_most("prompt", asked.question.prompt, limits.max_tokens, "tokens");
  check_at_most("generate", asked.question.generate, limits.max_tokens, "tokens");
  return staircase_question(asked.question, asked.deployment);
}

LessonQuestion asked_lesson(const Json& body, const ApiLimits& limits) {
  using Q = LessonQuestion;
  static const Flags<Q> flags = [] {
    Flags<Q> all = lesson_flags();
    append_deployment_flags(all, &Q::deployment);
    return all;
  }();
  Q question;
  read_body(question, flags, body);
  check_deployment(question.deployment, limits);
  return question;
}

SamplingQuestion asked_sampling(const Json& body) {
  SamplingQuestion question;
  read_body(question, sampling_flags(), body);
  return question;
}

CapacityQuestion asked_capacity(const Json& body, const ApiLimits& limits) {
  struct Asked {
    CapacityOptions capacity{};
    ScenarioOptions scenario{};
  };
  static const Flags<Asked> flags = [] {
    Flags<Asked> all;
    append(all, capacity_flags(), &Asked::capacity);
    append(all, load_flags(), &Asked::scenario);
    return all;
  }();
  Asked asked;
  read_body(asked, flags, body);
  check_load(asked.scenario, limits);
  return capacity_question(with_options({}, asked.scenario), asked.capacity,
                           !asked.scenario.workload.num_prompts);
}

AskedSimulation asked_simulation(const Json& body, const ApiLimits& limits) {
  struct Asked {
    SimulationQuestion question{};
    ScenarioOptions scenario{};
  };
  static const Flags<Asked> flags = [] {
    Flags<Asked> all;
    append(all, simulation_flags(), &Asked::question);
    append(all, interval_flags(), &Asked::question);
    append(all, load_flags(), &Asked::scenario);
    return all;
  }();
  Asked asked;
  std::vector<NamedText> given = read_body(asked, flags, body);
  check_load(asked.scenario, limits);
  std::optional<std::int64_t>& requests = asked.scenario.workload.num_prompts;
  if (!requests && limits.max_requests < SyntheticWorkload{}.num_prompts) {
    requests = limits.max_requests;
    given.push_back({"num-prompts", std::to_string(limits.max_requests)});
  }
  asked.question.scenario = with_options({}, asked.scenario);
  return {.question = std::move(asked.question), .command_line = command_line("simulate", given)};
}

std::vector<std::int64_t> asked_runs(const Json& body) {
  constexpr const char* kExpected = "expected run ids, such as {\"runs\": [1, 2]}";
  if (!body.is_object() || body.size() != 1 || !body.contains("runs")) throw UsageError(kExpected);
  const Json& runs = body["runs"];
  if (!runs.is_array() || runs.size() > kMaxValues) throw UsageError(kExpected);
  std::vector<std::int64_t> ids;
  for (const Json& id : runs) {
    if (!id.is_number_unsigned() || !std::in_range<std::int64_t>(id.get<std::uint64_t>())) {
      throw UsageError(kExpected);
    }
    ids.push_back(id.get<std::int64_t>());
  }
  return ids;
}

std::string with_request_keys(const std::string& named) {
  const std::string message =
      with_keys(named, [](std::string_view key) { return std::string(key); });
  constexpr std::string_view kCommand = "roofcast ";  // up to a bracket it is a command line
  std::string result;
  for (std::size_t at = 0; at < message.size();) {
    const std::string_view rest = std::string_view(message).substr(at);
    std::size_t size = 1;
    if (rest.starts_with(kCommand)) {
      size = std::min(rest.find(')'), rest.size());
    } else if (rest.starts_with("--") && rest.size() > 2 && rest[2] >= 'a' && rest[2] <= 'z') {
      size = std::min(rest.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-"), rest.size());
      result += key_of(rest.substr(2, size - 2));
      at += size;
      continue;
    }
    result += rest.substr(0, size);
    at += size;
  }
  return result;
}

}  // namespace roofcast
