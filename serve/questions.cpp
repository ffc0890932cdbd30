#include "serve/questions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>

#include "base/error.hpp"
#include "base/io/shown.hpp"
#include "base/quantity.hpp"
#include "base/text.hpp"
#include "roofcast/arguments.hpp"
#include "roofcast/built_in.hpp"
#include "roofcast/stored_runs.hpp"

namespace roofcast {
namespace {

constexpr std::size_t kMaxValueSize = 200;
constexpr std::size_t kMaxListed = 50;   // values of a list
constexpr std::int64_t kMaxPairs = 100;  // of a batch and a prompt length

/// No value needs more than these, and none of them makes a path or another line of a message.
void check_letters(const std::string& key, const std::string& text) {
  constexpr std::array<std::string_view, 4> kPairs = {"vary", "search", "available", "price"};
  const bool is_pair = std::ranges::find(kPairs, key) != kPairs.end();
  const std::string_view others = key == "growth" ? "-.%/" : is_pair ? "-._:,+*%= " : "-._:,+*% ";
  if (std::ranges::all_of(text, [&](unsigned char letter) {
        return std::isalnum(letter) != 0 ||
               others.find(static_cast<char>(letter)) != std::string_view::npos;
      })) {
    return;
  }
  throw UsageError(fmt::format("{}: '{}' given, only letters, digits and {} are allowed", key,
                               shown(text), others));
}

constexpr ValueRules kRules = {
    .max_size = kMaxValueSize, .max_values = kMaxListed, .check = check_letters};

/// Whether clients may set it. Scenarios are files, and traces are those of the store; stages and
/// adapters have no bound here, JSON within a value has other letters, and threads are the
/// server's.
bool is_offered(std::string_view flag) {
  constexpr std::array<std::string_view, 6> kBoundedShapes = {
      "normalised", "random-range-ratio", "prefix-len", "prefix-groups", "turns", "think-time"};
  constexpr std::array<std::string_view, 5> kOfTraces = {"trace", "max-requests", "time-scale",
                                                         "rate-scale", "trace-rate"};
  if (std::ranges::find(kOfTraces, flag) != kOfTraces.end()) return true;
  if (find_flag(load_shape_flags(), flag) != nullptr) {
    return std::ranges::find(kBoundedShapes, flag) != kBoundedShapes.end();
  }
  return flag != "scenario" && flag != "prices" && flag != "speculative-config" &&
         flag != "threads" && find_flag(trace_flags(), flag) == nullptr &&
         find_flag(trace_form_flags(), flag) == nullptr;
}

/// Whether variants may differ in it. The trace itself is the store's: its name in a variant would
/// be that of a file.
bool can_vary(std::string_view flag) { return is_offered(flag) && flag != "trace"; }

template <class Target>
Flags<Target> offered(Flags<Target> flags) {
  std::erase_if(flags, [](const auto& flag) { return !is_offered(flag.name); });
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

void check_recorded(const std::string& name, std::int64_t recorded, std::int64_t read,
                    const ApiLimits& limits) {
  if (std::min(read, recorded) <= limits.max_requests) return;
  throw UsageError(fmt::format(
      "trace: '{}' has {} requests, this server allows {} (max_requests reads only the first)",
      shown(name), recorded, limits.max_requests));
}

/// Puts the bytes of the store's trace beside its name. Returns its requests; 0: there is none.
std::int64_t take_trace(WorkloadOptions& load, const ApiLimits& limits) {
  if (!load.trace) return 0;
  const auto found = limits.trace ? limits.trace(*load.trace) : std::nullopt;
  if (!found) {
    throw UsageError(fmt::format("trace: the store has no trace '{}'", shown(*load.trace)));
  }
  check_recorded(*load.trace, found->requests, load.max_requests.value_or(found->requests), limits);
  load.trace_bytes = found->bytes;
  return found->requests;
}

/// Turns of a session are requests, too.
void check_turns(const LengthDistribution& turns, std::int64_t sessions, const ApiLimits& limits) {
  if (turns.kind != LengthDistribution::Kind::fixed) {
    throw UsageError("turns: expected a number here, not a distribution");
  }
  const auto per_session = static_cast<std::int64_t>(turns.a);
  check_at_most("turns", per_session, limits.max_turns, "turns");
  check_at_most("num_prompts", sessions * per_session, limits.max_requests,
                "requests, the turns of all sessions");
}

/// Asks for the largest number of requests allowed if none is given and the default exceeds it.
/// Returns whether it did.
bool bound_requests(WorkloadOptions& load, const ApiLimits& limits) {
  const bool exceeds =
      !load.num_prompts && !load.trace && limits.max_requests < SyntheticWorkload{}.num_prompts;
  if (exceeds) load.num_prompts = limits.max_requests;
  return exceeds;
}

/// Returns the requests of the load's trace; 0: there is none.
std::int64_t check_load(ScenarioOptions& options, const ApiLimits& limits) {
  const WorkloadOptions& load = options.workload;
  const ClusterOptions& cluster = options.cluster;
  check_deployment(options.deployment, limits);
  check_lengths("input_len", load.input);
  check_lengths("output_len", load.output);
  check_at_most("num_prompts", load.num_prompts, limits.max_requests, "requests");
  const std::int64_t recorded = take_trace(options.workload, limits);
  if (load.shape.turns) {
    check_turns(
        *load.shape.turns,
        load.num_prompts.value_or(std::min(SyntheticWorkload{}.num_prompts, limits.max_requests)),
        limits);
  }
  check_at_most("replicas", cluster.replicas, limits.max_replicas, "replicas");
  check_at_most("prefill_replicas", cluster.prefill_replicas, limits.max_replicas, "replicas");
  check_at_most("decode_replicas", cluster.decode_replicas, limits.max_replicas, "replicas");
  if (load.shape.prefix_len) {  // the longest of a distribution is not known before it is drawn
    check_at_most("prefix_len", parse_count(*load.shape.prefix_len, "prefix_len"),
                  limits.max_prefix_tokens, "tokens");
  }
  return recorded;
}

/// The same of a deployment that may list several GPUs, by name.
void check_load_on_several(ScenarioOptions& load, const ApiLimits& limits) {
  const std::string gpus = std::exchange(load.deployment.gpu, {});
  check_load(load, limits);
  for (const std::string_view gpu : split(gpus, ',')) {
    DeploymentOptions one{.gpu = std::string(gpu)};
    if (gpu != "any") check_deployment(one, limits);
    load.deployment.gpu += (load.deployment.gpu.empty() ? "" : ",") + one.gpu;
  }
}

CapacityArguments capacity_arguments_of(const Json& body) {
  static const Flags<CapacityArguments> flags = offered(capacity_arguments());
  CapacityArguments asked;
  read_question(asked, flags, body, kRules);
  return asked;
}

/// Values of knobs that are varied: none may name a file.
void check_values(const Knob& knob, const ApiLimits& limits) {
  for (const std::string& value : knob.values) {
    DeploymentOptions one;
    if (knob.key == "model") one.model = value;
    if (knob.key == "gpu") one.gpu = value;
    if (knob.key == "engine") one.engine = value;
    check_deployment(one, limits);
  }
  const std::string& key = knob.key;
  if (key == "input_len" || key == "output_len" || key == "isl" || key == "osl") {
    for (const std::string& value : knob.values) {
      if (relative_change(value)) continue;
      check_lengths(key.c_str(), parse_length_distribution(value));
    }
  }
}

void check_drawn(const SyntheticWorkload& load, const ApiLimits& limits) {
  check_at_most("num_prompts", load.num_prompts, limits.max_requests, "requests");
  if (load.sessions) check_turns(load.sessions->turns, load.num_prompts, limits);
  if (!load.shared_prefix) return;
  const LengthDistribution& prefix = load.shared_prefix->system_prompt;
  if (prefix.kind != LengthDistribution::Kind::fixed) {
    throw UsageError("prefix_len: expected a number here, not a distribution");
  }
  check_at_most("prefix_len", static_cast<std::int64_t>(prefix.a), limits.max_prefix_tokens,
                "tokens");
}

/// The counts of a scenario whose values may be relative to another's; its trace, if it has one,
/// holds `recorded` requests.
void check_scenario(const Scenario& scenario, std::int64_t recorded, const ApiLimits& limits) {
  if (const auto* load = std::get_if<SyntheticWorkload>(&scenario.workload)) {
    check_drawn(*load, limits);
  } else {
    const auto& trace = std::get<TraceWorkload>(scenario.workload);
    const std::int64_t read = trace.max_requests == 0 ? recorded : trace.max_requests;
    check_recorded(trace.path, recorded, read, limits);
  }
  check_at_most("max_num_seqs", scenario.deployment.overrides.max_num_seqs, limits.max_sequences,
                "sequences at once");
  if (!scenario.cluster) return;
  for (const PoolScenario& pool : scenario.cluster->pools) {
    check_at_most("replicas", pool.replicas, limits.max_replicas, "replicas");
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
  MemoryQuestion question;
  read_question(question, memory_arguments(), body, kRules);
  check_deployment(question.deployment, limits);
  refuse_idle_flags(question.deployment.overrides, question);
  return question;
}

EstimateArguments asked_estimate(const Json& body, const ApiLimits& limits) {
  EstimateArguments asked;
  BatchesQuestion& question = asked.question;
  read_question(asked, estimate_arguments(), body, kRules);
  check_deployment(question.deployment, limits);
  refuse_idle_flags(question.deployment.overrides, question);
  check_at_most("batch", std::ssize(question.batches) * std::ssize(question.input_tokens),
                kMaxPairs, "pairs of a batch and a prompt length");
  return asked;
}

StaircaseQuestion asked_staircase(const Json& body, const ApiLimits& limits) {
  StaircaseArguments asked;
  read_question(asked, staircase_arguments(), body, kRules);
  check_deployment(asked.deployment, limits);
  check_at_most("prompt", asked.question.prompt, limits.max_tokens, "tokens");
  check_at_most("generate", asked.question.generate, limits.max_tokens, "tokens");
  return question_of(asked);
}

LessonQuestion asked_lesson(const Json& body, const ApiLimits& limits) {
  LessonQuestion question;
  read_question(question, lesson_arguments(), body, kRules);
  check_deployment(question.deployment, limits);
  refuse_idle_flags(question);
  return question;
}

SamplingQuestion asked_sampling(const Json& body) {
  SamplingQuestion question;
  read_question(question, sampling_flags(), body, kRules);
  return question;
}

CapacityQuestion asked_capacity(const Json& body, const ApiLimits& limits) {
  CapacityArguments asked = capacity_arguments_of(body);
  check_load(asked.load.options, limits);
  return question_of(asked);
}

std::optional<CapacityTableQuestion> asked_capacity_table(const Json& body,
                                                          const ApiLimits& limits) {
  CapacityArguments asked = capacity_arguments_of(body);
  if (!compares_machines(asked.load.options.deployment.gpu, asked.sizes)) return std::nullopt;
  check_load_on_several(asked.load.options, limits);
  const auto question = std::get<CapacityTableQuestion>(any_question_of(asked));
  const std::int64_t sizes =
      question.sizes.empty() ? std::ssize(kAnySizes) : std::ssize(question.sizes);
  check_at_most("gpu", std::ssize(question.gpus) * sizes, limits.max_variants, "rows");
  return question;
}

AskedSimulation asked_simulation(const Json& body, const ApiLimits& limits) {
  static const Flags<SimulationArguments> flags = offered(simulation_arguments());
  SimulationArguments asked;
  std::vector<NamedText> given = read_question(asked, flags, body, kRules);
  check_load(asked.load.options, limits);
  if (bound_requests(asked.load.options.workload, limits)) {
    given.push_back({"num-prompts", std::to_string(limits.max_requests)});
  }
  asked.question.max_requests = limits.max_requests;
  return {.question = question_of(asked), .command_line = command_line("simulate", given)};
}

ModelArguments asked_model(const Json& body) {
  ModelArguments asked;
  read_question(asked, model_arguments(), body, kRules);
  check_built_in({.model = asked.model});
  return asked;
}

GpuArguments asked_gpu(const Json& body, const ApiLimits& limits) {
  GpuArguments asked;
  read_question(asked, gpu_arguments(), body, kRules);
  DeploymentOptions options{.gpu = asked.gpu};
  check_deployment(options, limits);
  return {.gpu = options.gpu};
}

PlanQuestion asked_plan(const Json& body, const ApiLimits& limits) {
  static const Flags<PlanArguments> flags = offered(plan_arguments());
  PlanArguments asked;
  read_question(asked, flags, body, kRules);
  ScenarioOptions& load = asked.load.options;
  check_load_on_several(load, limits);
  check_at_most("max_replicas", asked.plan.max_replicas, limits.max_replicas, "replicas");
  if (asked.plan.max_replicas.value_or(0) == 0) {
    asked.plan.max_replicas =
        std::min<std::int64_t>(PlanQuestion{}.max_replicas, limits.max_replicas);
  }
  bound_requests(load.workload, limits);
  const PlanQuestion question = question_of(asked);
  std::int64_t combinations = 1;
  for (const Knob& knob : question.search) {
    check_values(knob, limits);
    combinations *= std::ssize(knob.values);
    check_at_most("search", combinations, limits.max_variants, "combinations");
  }
  return question;
}

WhatIfTask asked_what_if(const Json& body, const ApiLimits& limits) {
  static const Flags<WhatIfArguments> flags = offered(what_if_arguments());
  WhatIfArguments asked;
  read_question(asked, flags, body, kRules);
  const std::int64_t recorded = check_load(asked.load.options, limits);
  for (const std::string& text : asked.what_if.vary) {
    const Knob knob = parse_knob(text, "vary");
    check_vary_key(knob.key, can_vary);
    std::string flag = with_dashes(knob.key);
    if (const auto named = flag_with_alias("--" + flag); !named.empty()) flag = named;
    const bool known = is_joint_key(flag) || find_flag(scenario_flags(), flag) != nullptr;
    if (!known || !can_vary(flag)) {
      throw UsageError(fmt::format("vary: '{}' cannot be varied here, expected a key of simulate",
                                   shown(knob.key)));
    }
    check_values(knob, limits);
  }
  bound_requests(asked.load.options.workload, limits);
  const WhatIfQuestion question = question_of(asked);
  const std::int64_t variants = std::ssize(question.settings) + 1;
  check_at_most("vary", variants * question.seeds.value_or(kDefaultSeeds), limits.max_variants,
                "simulations (variants times seeds)");
  WhatIfTask task = what_if_task(question);
  for (const WhatIfVariant& variant : task.variants) {
    check_scenario(variant.scenario, recorded, limits);
  }
  return task;
}

std::optional<std::int64_t> asked_run(const Json& body) {
  if (body.is_object() && body.empty()) return std::nullopt;
  if (!body.is_object() || body.size() != 1 || !body.contains("id") ||
      !body["id"].is_number_unsigned() ||
      !std::in_range<std::int64_t>(body["id"].get<std::uint64_t>())) {
    throw UsageError("expected {} for all runs or a run's id, such as {\"id\": 1}");
  }
  return body["id"].get<std::int64_t>();
}

NamedRun asked_name(const Json& body) {
  constexpr const char* kExpected =
      "expected a run's id and a name, such as {\"id\": 1, "
      "\"name\": \"two replicas\"}";
  if (!body.is_object() || body.size() != 2 || !body.contains("id") || !body.contains("name") ||
      !body["name"].is_string()) {
    throw UsageError(kExpected);
  }
  NamedRun named{.id = *asked_run({{"id", body["id"]}}), .name = body["name"].get<std::string>()};
  check_run_name(named.name, "name");
  return named;
}

std::string asked_trace(const Json& body) {
  if (!body.is_object() || body.size() != 1 || !body.contains("name") ||
      !body["name"].is_string()) {
    throw UsageError("expected a trace's name, such as {\"name\": \"chat.csv\"}");
  }
  return body["name"].get<std::string>();
}

std::vector<Argument> offered_arguments(const std::string& command) {
  if (command == "models") return arguments_of(model_arguments());
  if (command == "gpus") return arguments_of(gpu_arguments());
  if (command == "memory") return arguments_of(memory_arguments());
  if (command == "estimate") return arguments_of(estimate_arguments());
  if (command == "staircase") return arguments_of(staircase_arguments());
  if (command == "learn") return arguments_of(lesson_arguments());
  if (command == "sampling") return arguments_of(sampling_flags());
  if (command == "simulate") return arguments_of(offered(simulation_arguments()));
  if (command == "capacity") return arguments_of(offered(capacity_arguments()));
  if (command == "plan") return arguments_of(offered(plan_arguments()));
  if (command == "whatif") return arguments_of(offered(what_if_arguments()));
  return {};
}

std::vector<std::int64_t> asked_runs(const Json& body) {
  constexpr const char* kExpected = "expected run ids, such as {\"runs\": [1, 2]}";
  if (!body.is_object() || body.size() != 1 || !body.contains("runs")) throw UsageError(kExpected);
  const Json& runs = body["runs"];
  if (!runs.is_array() || runs.size() > kMaxListed) throw UsageError(kExpected);
  std::vector<std::int64_t> ids;
  for (const Json& id : runs) {
    if (!id.is_number_unsigned() || !std::in_range<std::int64_t>(id.get<std::uint64_t>())) {
      throw UsageError(kExpected);
    }
    ids.push_back(id.get<std::int64_t>());
  }
  return ids;
}

}  // namespace roofcast
