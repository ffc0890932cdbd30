// Every key of a scenario file: the members of its objects, in the order in which they are written,
// each with the rule for its values. Reader, writer and the check for unknown keys are made from
// these lists; scenario.schema.json describes them, and a test compares the two. The keys of
// engine_options come from the table of knobs (engine_options.hpp).
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <variant>
#include <vector>

#include "base/error.hpp"
#include "base/io/csv.hpp"
#include "model/engines/knobs.hpp"
#include "simulator/io/engine_options.hpp"
#include "simulator/io/json_members.hpp"
#include "simulator/scenario.hpp"

namespace roofcast::scenario_json {

inline std::optional<EngineOverrides> read_overrides(const JsonObject& object, const char* key) {
  const auto options = object.object(key, engine_option_keys());
  return options ? std::optional(read_engine_options(*options)) : std::nullopt;
}
using EngineOptions = Value<read_overrides, engine_options_json>;

void members(auto& visit, Parallelism& parallel) {
  constexpr int kMaxRanks = 65'536;
  visit("tensor", parallel.tensor, Whole{1, kMaxRanks});
  visit("pipeline", parallel.pipeline, Whole{1, kMaxRanks});
  visit("data", parallel.data, Whole{1, kMaxRanks});
  visit("context", parallel.context, Whole{1, kMaxRanks});
  visit("expert", parallel.expert_parallel, Flag{});
}

/// All degrees that an object gives or leaves at their defaults.
inline std::optional<ParallelismOptions> read_degrees(const JsonObject& object, const char* key) {
  const auto parallel = Object<Parallelism>{}.read(object, key);
  return parallel ? std::optional(as_given(*parallel)) : std::nullopt;
}
inline Json degrees_json(const ParallelismOptions& given) {
  return Object<Parallelism>{}.write(with_given({}, given));
}
using Degrees = Value<read_degrees, degrees_json>;

/// A scenario names its engine even where it is the default, which later versions may change.
inline std::optional<std::string> read_engine(const JsonObject& object, const char* key) {
  return object.text(key);
}
inline Json engine_json(const std::string& engine) { return engine_name({.engine = engine}); }
using EngineName = Value<read_engine, engine_json>;

/// Whose deployment: a scenario's is written whole, a pool's only what it has of its own.
enum class DeploymentOf { scenario, pool };

void deployment_members(auto& visit, DeploymentOptions& options, DeploymentOf owner) {
  const bool is_scenario = owner == DeploymentOf::scenario;
  visit("gpu", options.gpu, Text{}, is_scenario || !options.gpu.empty());
  visit("engine", options.engine, EngineName{}, is_scenario || !options.engine.empty());
  visit("quantization", options.weight_format, Text{});
  visit("parallel", options.parallel, Degrees{},
        is_scenario || !first_given(options.parallel).empty());
  visit("engine_options", options.overrides, EngineOptions{},
        first_given(options.overrides) != nullptr);
}

// ---- synthetic workloads

/// A number of tokens, or a distribution as text.
inline std::optional<LengthDistribution> read_lengths(const JsonObject& object, const char* key) {
  const auto* value = object.find(key);
  if (value == nullptr) return std::nullopt;
  if (value->is_number()) return fixed_length(*object.integer(key, 1, kMaxTokens));
  const auto text = object.text(key);
  try {
    return parse_length_distribution(*text);
  } catch (const Error&) {
    object.fail(key, std::string("a number of tokens, or a string ") + kLengthForms);
  }
}
inline Json lengths_json(const LengthDistribution& lengths) {
  if (lengths.kind != LengthDistribution::Kind::fixed) return to_text(lengths);
  return static_cast<std::int64_t>(lengths.a);
}
using Lengths = Value<read_lengths, lengths_json>;

/// Seconds, or a distribution as text.
inline std::optional<ThinkTime> read_think_time(const JsonObject& object, const char* key) {
  const auto* value = object.find(key);
  if (value == nullptr) return std::nullopt;
  try {
    return parse_think_time(value->is_string() ? value->get<std::string>() : value->dump());
  } catch (const Error&) {
    object.fail(key,
                "seconds, or a string uniform:LOW:HIGH, exponential:MEAN, normal:MEAN:SD or "
                "lognormal:MEDIAN:SIGMA");
  }
}
inline Json think_time_json(const ThinkTime& time) {
  return time.kind == ThinkTime::Kind::fixed ? Json(time.a) : Json(to_text(time));
}
using Pause = Value<read_think_time, think_time_json>;

/// A rate that may be 0.
inline std::optional<double> read_rate(const JsonObject& object, const char* key) {
  const auto* value = object.find(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_number() || !(value->get<double>() >= 0)) {
    object.fail(key, "a number of at least 0");
  }
  return value->get<double>();
}
using Rate = Value<read_rate>;

void members(auto& visit, RampUp& ramp) {
  static constexpr NameTable<RampUp::Strategy, 2> kStrategies{
      {{RampUp::Strategy::linear, "linear"}, {RampUp::Strategy::exponential, "exponential"}}};
  visit("strategy", ramp.strategy, Choice{kStrategies});
  visit("start_rps", ramp.start, Required{AboveZero{}, "initial requests per second"});
  visit("end_rps", ramp.end, Required{AboveZero{}, "final requests per second"});
}

struct PhaseMembers {
  void operator()(auto& visit, RateStage& stage) const {
    visit("rate", stage.rate, Required{Rate{}, "requests per second"});
    visit("duration_s", stage.duration, Required{AboveZero{}, "a time in seconds"});
  }
};

void members(auto& visit, RateStage& stage) {
  PhaseMembers{}(visit, stage);
  visit("warm_up", stage.warm_up, Flag{}, stage.warm_up);
}

void members(auto& visit, DiurnalRate& rate) {
  visit("low", rate.low, Required{Rate{}, "requests per second"});
  visit("high", rate.high, Required{AboveZero{}, "peak requests per second"});
  visit("period_s", rate.period, AboveZero{});
}

/// A load of stages or phases, which is written as their array.
template <class Load, auto kList, class List>
struct StageList {
  std::optional<Load> read(const JsonObject& object, const char* key) const {
    auto stages = Objects<RateStage, List>{}.read(object, key);
    return stages ? std::optional(Load{std::move(*stages)}) : std::nullopt;
  }
  Json write(const Load& load) const { return Objects<RateStage, List>{}.write(load.*kList); }
};

/// A number for both lengths, or one for each.
struct Ratios {
  struct Each {
    void operator()(auto& visit, RangeRatio& ratio) const {
      visit("input", ratio.input, Share{});
      visit("output", ratio.output, Share{});
    }
  };

  std::optional<RangeRatio> read(const JsonObject& object, const char* key) const {
    const auto* value = object.find(key);
    if (value == nullptr) return std::nullopt;
    if (value->is_object()) return Object<RangeRatio, Each>{}.read(object, key);
    const auto both = object.fraction(key);
    return RangeRatio{.input = both, .output = both};
  }
  Json write(const RangeRatio& ratio) const {
    if (ratio.input == ratio.output) return *ratio.input;
    return Object<RangeRatio, Each>{}.write(ratio);
  }
};

void members(auto& visit, SharedPrefix& prefix) {
  visit("num_groups", prefix.groups, Whole{1, kMaxRequests});
  visit("num_prompts_per_group", prefix.prompts_per_group, Whole{0, kMaxRequests});
  visit("system_prompt_len", prefix.system_prompt, Lengths{});
}

void members(auto& visit, Sessions& sessions) {
  visit("turns", sessions.turns, Lengths{});
  visit("think_time_s", sessions.think_time, Pause{});
  visit("first_input_len", sessions.first_input, Lengths{});
  visit("max_session_tokens", sessions.max_session_tokens, Whole{0, kMaxTokens},
        sessions.max_session_tokens > 0);
}

/// Only one key may specify the rate over time.
inline void refuse_two_patterns(const JsonObject& object) {
  constexpr std::array kPatterns = {"request_rate", "ramp_up", "stages", "cycle", "diurnal"};
  const char* found = nullptr;
  for (const char* key : kPatterns) {
    if (object.find(key) == nullptr) continue;
    if (found != nullptr) object.fail(key, fmt::format("no {} together with {}", key, found));
    found = key;
  }
  if (object.find("stages") != nullptr && object.find("num_prompts") != nullptr) {
    object.fail("num_prompts",
                "no num_prompts together with stages, whose rates and durations decide");
  }
}

void members(auto& visit, SyntheticWorkload& load) {
  static constexpr NameTable<RangeRatio::Style, 2> kStyles{
      {{RangeRatio::Style::vllm, "vllm"}, {RangeRatio::Style::sglang, "sglang"}}};
  using Stages = StageList<StagedLoad, &StagedLoad::stages, ItsMembers>;
  using Phases = StageList<RateCycle, &RateCycle::phases, PhaseMembers>;
  std::string type = "synthetic";
  visit("type", type, Text{});
  visit.reading(refuse_two_patterns);
  const bool staged = std::holds_alternative<StagedLoad>(load.pattern);
  visit("num_prompts", load.num_prompts, Whole{1}, !staged);
  visit("ramp_up", load.pattern, Alternative<RampUp, Object<RampUp>>{},
        std::holds_alternative<RampUp>(load.pattern));
  visit("stages", load.pattern, Alternative<StagedLoad, Stages>{}, staged);
  visit("cycle", load.pattern, Alternative<RateCycle, Phases>{},
        std::holds_alternative<RateCycle>(load.pattern));
  visit("diurnal", load.pattern, Alternative<DiurnalRate, Object<DiurnalRate>>{},
        std::holds_alternative<DiurnalRate>(load.pattern));
  visit("request_rate", load.request_rate, MaybeInfinite{},
        std::holds_alternative<SteadyRate>(load.pattern));
  visit("burstiness", load.burstiness, MaybeInfinite{});
  visit("normalised", load.normalised, Flag{});
  visit("num_warmups", load.num_warmups, Whole{0, kMaxRequests}, load.num_warmups > 0);
  visit("input_len", load.input, Lengths{});
  visit("output_len", load.output, Lengths{});
  RangeRatio& ratio = load.range_ratio;
  visit("range_ratio", ratio, Ratios{}, ratio.input || ratio.output);
  visit("range_ratio_style", ratio.style, Choice{kStyles},
        ratio.style == RangeRatio::Style::sglang);
  visit("shared_prefix", load.shared_prefix, Object<SharedPrefix>{});
  visit("sessions", load.sessions, Object<Sessions>{});
  visit("lora_adapters", load.lora.count, Whole{}, load.lora.count > 0);
  visit("lora_zipf", load.lora.zipf, AboveZero{}, load.lora.zipf > 0);
  visit("images", load.images.count, Whole{}, load.images.count > 0);
  visit("image_tokens", load.images.tokens, Whole{1}, load.images.count > 0);
  visit.reading([&](const JsonObject& object) {
    load.states_output = object.find("output_len") != nullptr;
    const std::int64_t prompts = load.shared_prefix ? prompts_of(*load.shared_prefix) : 0;
    if (prompts > 0 && object.find("num_prompts") == nullptr) load.num_prompts = prompts;
    if (object.find("range_ratio_style") != nullptr && object.find("range_ratio") == nullptr) {
      object.fail("range_ratio_style", "range_ratio beside it");
    }
    if (load.lora.zipf > 0 && load.lora.count == 0) {
      object.fail("lora_zipf", "lora_adapters beside it");
    }
    if ((load.images.count > 0) != (load.images.tokens > 0)) {
      object.fail(load.images.count > 0 ? "images" : "image_tokens",
                  "images and image_tokens together");
    }
  });
}

// ---- traces

void members(auto& visit, TraceColumnNames& names) {
  const auto column = [&](const char* key, std::string& name) {
    visit(key, name, Text{}, !name.empty());
  };
  column("time", names.time);
  column("input", names.input);
  column("output", names.output);
  column("max_tokens", names.max_tokens);
  column("class", names.slo_class);
  column("priority", names.priority);
  column("session", names.session);
  column("delay", names.delay);
  column("hash_ids", names.hash_ids);
}

void members(auto& visit, TraceWorkload& trace) {
  const Named<TraceFormat> format{parse_trace_format, "auto, csv, jsonl or bench"};
  const Named<TraceTimeUnit> unit{parse_trace_time_unit, "s, ms, us or ns"};
  std::string type = "trace";
  visit("type", type, Text{});
  visit("path", trace.path, Text{});
  visit.reading([&](const JsonObject& object) {
    if (trace.path.empty()) object.fail_missing("path", "the path of a trace");
  });
  visit("hash", trace.hash, Text{}, !trace.hash.empty());
  visit("format", trace.format, format, trace.format != TraceFormat::automatic);
  visit("columns", trace.columns, Object<TraceColumnNames>{}, trace.columns != TraceColumnNames{});
  visit("time_unit", trace.time_unit, unit);
  visit("trace_block_size", trace.block_size, Whole{1, kLargestTraceBlock});
  visit("max_requests", trace.max_requests, Whole{});
  visit("time_scale", trace.time_scale, AboveZero{});
  visit("rate_scale", trace.rate_scale, AboveZero{});
  visit("request_rate", trace.request_rate, AboveZero{});
  visit("skip_bad_rows", trace.skip_bad_rows, Flag{});
  visit("drop_failed", trace.drop_failed, Flag{}, trace.drop_failed);
}

struct Load {
  std::optional<WorkloadSpec> read(const JsonObject& object, const char* key) const {
    constexpr const char* kExpected = "an object with type synthetic or trace";
    const auto* json = object.find(key);
    if (json == nullptr) object.fail_missing(key, kExpected);
    if (!json->is_object() || !json->contains("type")) object.fail(key, kExpected);
    const auto& type = (*json)["type"];
    if (type == "synthetic") return *Object<SyntheticWorkload>{}.read(object, key);
    if (type == "trace") return *Object<TraceWorkload>{}.read(object, key);
    object.fail(key, "type synthetic or trace");
  }
  Json write(const WorkloadSpec& workload) const {
    return std::visit([]<class T>(const T& load) { return Object<T>{}.write(load); }, workload);
  }
};

// ---- clusters

void members(auto& visit, Autoscaling& scaling) {
  using Metric = Autoscaling::Metric;
  static constexpr NameTable<Metric, 2> kMetrics{
      {{Metric::queue, "queue"}, {Metric::utilisation, "utilisation"}}};
  visit("min_replicas", scaling.min_replicas, Whole{1, kMaxReplicas});
  visit("max_replicas", scaling.max_replicas,
        Required{Whole{1, kMaxReplicas}, "the maximum number of replicas of the pool"});
  visit("metric", scaling.metric, Choice{kMetrics});
  visit("target", scaling.target, AboveZero{});
  visit("interval_s", scaling.interval, Time{});
  visit.reading([&](const JsonObject& object) {
    const double shortest = to_seconds(kShortestAutoscalingInterval).value;
    if (scaling.interval < kShortestAutoscalingInterval) {
      object.fail("interval_s", fmt::format("{} seconds or more", shortest));
    }
  });
  visit("start_up_s", scaling.start_up, Time{});
  visit("scale_down_window_s", scaling.scale_down_window, Time{});
}

inline Named<RouterPolicy> router_policy() {
  return {parse_router_policy, fmt::format("{}", fmt::join(router_policy_names(), ", "))};
}

inline std::optional<std::vector<std::string>> read_names(const JsonObject& object,
                                                          const char* key) {
  const nlohmann::json* names = object.find(key);
  if (names == nullptr) return std::nullopt;
  const auto is_name = [](const nlohmann::json& one) { return one.is_string(); };
  if (!names->is_array() || names->empty() || !std::ranges::all_of(*names, is_name)) {
    object.fail(key, "a list of names");
  }
  return names->get<std::vector<std::string>>();
}

/// Prompts from min_input_len to max_input_len, and request classes.
void members(auto& visit, PoolRoute& route) {
  visit("min_input_len", route.min_input_tokens, Whole{}, route.min_input_tokens > 0);
  visit("max_input_len", route.max_input_tokens, Whole{1});
  visit("classes", route.classes, Value<read_names>{}, !route.classes.empty());
  visit.reading([&](const JsonObject& object) {
    if (route.max_input_tokens && *route.max_input_tokens < route.min_input_tokens) {
      object.fail("max_input_len", "min_input_len or more");
    }
  });
}

struct PoolMembers {
  const std::vector<PoolScenario>& before;  // no two have the same name

  void operator()(auto& visit, PoolScenario& pool) const {
    visit("name", pool.name, Text{});
    visit("role", pool.role, Choice{kPoolRoles});
    visit("replicas", pool.replicas, Whole{1, kMaxReplicas});
    deployment_members(visit, pool.own, DeploymentOf::pool);
    visit("rank_router", pool.rank_router, router_policy());
    visit("lockstep", pool.lockstep, Flag{});
    visit("autoscaling", pool.autoscaling, Object<Autoscaling>{});
    visit("route", pool.route, Object<PoolRoute>{});
    visit.reading([&](const JsonObject& object) {
      const bool repeated =
          std::ranges::find(before, pool.name, &PoolScenario::name) != before.end();
      if (pool.name.empty() || repeated) object.fail("name", "a name that no other pool has");
    });
  }
};

/// Rounded to simulated time.
inline std::optional<Seconds> read_latency(const JsonObject& object, const char* key) {
  const auto time = Time{}.read(object, key);
  return time ? std::optional(to_seconds(*time)) : std::nullopt;
}

/// A named link, of which other keys override the parts.
void members(auto& visit, KvLink& link) {
  visit("name", link.name, Text{}, !link.name.empty());
  visit.reading([&](const JsonObject& object) {
    const bool named = object.find("name") != nullptr;
    const auto known = find_kv_link(named ? link.name : std::string(kDefaultKvLink));
    if (!known) {
      std::vector<std::string> names;
      for (const KvLink& one : kv_link_presets()) names.push_back(one.name);
      object.fail("name", fmt::format("{}", fmt::join(names, ", ")));
    }
    link = *known;
    if (!named && object.find("bandwidth_bytes_per_s") != nullptr) link.name.clear();
  });
  visit("bandwidth_bytes_per_s", link.bandwidth, AboveZero{});
  visit("latency_s", link.latency, Value<read_latency>{});
  visit.reading([&](const JsonObject& object) {
    constexpr Seconds kLongestLatency{3600};
    if (link.bandwidth < kSlowestLink) {
      object.fail("bandwidth_bytes_per_s",
                  fmt::format("{:g} bytes per second or more", kSlowestLink.value));
    }
    if (link.latency > kLongestLatency) {
      object.fail("latency_s", fmt::format("seconds, from 0 to {}", kLongestLatency.value));
    }
  });
  visit("shared", link.shared, Flag{});
  visit("overlapped", link.overlapped, Flag{});
}

struct FailureMembers {
  const std::vector<PoolScenario>& pools;

  void operator()(auto& visit, Failure& failure) const {
    static constexpr NameTable<bool, 2> kRequests{{{true, "retried"}, {false, "lost"}}};
    std::string pool = pools.empty() ? "" : pools[static_cast<std::size_t>(failure.pool)].name;
    visit("time_s", failure.time, Required{Time{}, "seconds from the start of the run"});
    visit("pool", pool, Text{});
    visit.reading([&](const JsonObject& object) {
      const auto found = std::ranges::find(pools, pool, &PoolScenario::name);
      if (found == pools.end()) object.fail("pool", "the name of a pool");
      failure.pool = static_cast<std::int32_t>(found - pools.begin());
    });
    visit("replica", failure.replica, Whole{0, kMaxReplicas - 1});
    visit("requests", failure.retried, Choice{kRequests});
    visit("back_after_s", failure.back_after, Time{});
  }
};

/// Both routers have the same thresholds.
void members(auto& visit, ClusterScenario& cluster) {
  RouterOptions& router = cluster.router;
  visit("pools", cluster.pools, Objects<PoolScenario, PoolMembers>{&cluster.pools, {cluster.pools}},
        !cluster.pools.empty());
  visit.reading([&](const JsonObject&) {
    if (cluster.pools.empty()) cluster.pools.emplace_back();
  });
  visit("router", router.policy, router_policy());
  visit("decode_router", cluster.decode_router.policy, router_policy());
  visit("cache_threshold", router.cache_threshold, Share{});
  visit("balance_abs_threshold", router.balance_abs_threshold, Whole{});
  visit("balance_rel_threshold", router.balance_rel_threshold, AboveZero{});
  visit.reading([&](const JsonObject&) {
    const RouterPolicy policy = cluster.decode_router.policy;
    cluster.decode_router = router;
    cluster.decode_router.policy = policy;
  });
  visit("kv_link", cluster.link, Object<KvLink>{});
  visit("failures", cluster.failures, Objects<Failure, FailureMembers>{nullptr, {cluster.pools}},
        !cluster.failures.empty());
}

// ---- objectives

inline Named<LatencyMetric> latency_metric() {
  return {parse_latency_metric, "ttft, tpot, itl or e2e"};
}

void members(auto& visit, GoodputLimit& limit) {
  visit("metric", limit.metric, Required{latency_metric(), "ttft, tpot, itl or e2e"});
  visit("limit_s", limit.limit, Required{AboveZero{}, "a limit in seconds"});
}

void members(auto& visit, PercentileTarget& target) {
  visit("metric", target.metric, Required{latency_metric(), "ttft, tpot, itl or e2e"});
  visit("percentile", target.percentile, AboveZero{});
  visit.reading([&](const JsonObject& object) {
    if (target.percentile >= 100) object.fail("percentile", "a number above 0 and below 100");
  });
  visit("limit_s", target.limit, Required{AboveZero{}, "a limit in seconds"});
}

struct ClassMembers {
  const std::vector<SloClass>& before;  // no two have the same name

  void operator()(auto& visit, SloClass& slo_class) const {
    visit("name", slo_class.name, Text{});
    visit.reading([&](const JsonObject& object) {
      const std::string& name = slo_class.name;
      if (name.empty()) object.fail_missing("name", "the name of the class");
      if (!fits_in_row(name)) object.fail("name", "a name without control characters");
      const bool repeated = std::ranges::find(before, name, &SloClass::name) != before.end();
      if (repeated) object.fail("name", "a name that no other class has");
    });
    visit("share", slo_class.share, Share{});
    visit("targets", slo_class.targets, Objects<PercentileTarget>{});
  }
};

/// Classes without a share get an equal one.
inline void share_out(std::vector<SloClass>& classes, const JsonObject& slo) {
  double sum = 0;
  for (std::size_t i = 0; i < classes.size(); ++i) {
    if (!(*slo.find("classes"))[i].contains("share")) {
      classes[i].share = 1.0 / static_cast<double>(classes.size());
    }
    sum += classes[i].share;
  }
  constexpr double kRounding = 1e-6;  // allows shares such as 0.333333, rounded by hand
  if (!classes.empty() && std::abs(sum - 1) > kRounding * static_cast<double>(classes.size())) {
    slo.fail("classes", fmt::format("shares that sum to 1, not {}", sum));
  }
}

void members(auto& visit, Slo& slo) {
  visit("goodput", slo.goodput, Objects<GoodputLimit>{}, !slo.goodput.empty());
  visit("targets", slo.targets, Objects<PercentileTarget>{}, !slo.targets.empty());
  visit("classes", slo.classes, Objects<SloClass, ClassMembers>{&slo.classes, {slo.classes}},
        !slo.classes.empty());
  visit.reading([&](const JsonObject& object) { share_out(slo.classes, object); });
}

void members(auto& visit, Pricing& pricing) {
  visit("kind", pricing.kind, Choice{kPriceKinds});
  visit("table", pricing.table, Text{}, !pricing.table.empty());
}

// ---- the scenario

/// An empty object would say neither that a pool has options of its own nor the scenario's.
inline void refuse_empty_options(const JsonObject& scenario) {
  const auto* cluster = scenario.find("cluster");
  if (cluster == nullptr || !cluster->contains("pools")) return;
  for (const auto& pool : (*cluster)["pools"]) {
    if (!pool.contains("engine_options") || !pool["engine_options"].empty()) continue;
    scenario.fail("cluster",
                  "pools whose engine_options have an option; without the key they are "
                  "the scenario's");
  }
}

/// A limit that clients declare: a number of tokens, or "none".
struct DeclaredOutput {
  static constexpr const char* kNone = "none";

  std::optional<std::int64_t> read(const JsonObject& object, const char* key) const {
    const auto* json = object.find(key);
    if (json != nullptr && *json == kNone) return kNoMaxTokens;
    if (json != nullptr && json->is_string()) {
      object.fail(key, fmt::format("a number of tokens, or \"{}\"", kNone));
    }
    return Whole{1, kMaxTokens}.read(object, key);
  }
  Json write(std::int64_t tokens) const {
    return tokens == kNoMaxTokens ? Json(kNone) : Json(tokens);
  }
};

void members(auto& visit, Scenario& scenario) {
  constexpr std::int64_t kSchemaVersion = 1;
  std::int64_t version = kSchemaVersion;
  std::string schema;  // for editors only
  visit("schema_version", version, Whole{});
  visit.reading([&](const JsonObject& object) {
    if (version != kSchemaVersion) {
      object.fail("schema_version", fmt::format("{}", kSchemaVersion));
    }
  });
  visit("$schema", schema, Text{}, false);
  visit("name", scenario.name, Text{}, !scenario.name.empty());
  DeploymentOptions& deployment = scenario.deployment;
  visit("model", deployment.model, Text{});
  deployment_members(visit, deployment, DeploymentOf::scenario);
  visit.reading([&](const JsonObject& object) {
    if (deployment.model.empty()) object.fail_missing("model", "a model's name or path");
    if (deployment.gpu.empty()) object.fail_missing("gpu", "a GPU's name");
  });
  visit("cluster", scenario.cluster, Object<ClusterScenario>{});
  visit.reading([&](const JsonObject& object) {
    if (first_given(deployment.overrides) != nullptr) refuse_empty_options(object);
  });
  visit("workload", scenario.workload, Load{});
  visit("max_concurrency", scenario.max_concurrency, Whole{1});
  visit("max_tokens", scenario.max_tokens, DeclaredOutput{});
  const Slo& slo = scenario.slo;
  visit("slo", scenario.slo, Object<Slo>{},
        !slo.goodput.empty() || !slo.targets.empty() || !slo.classes.empty());
  visit("pricing", scenario.pricing, Object<Pricing>{}, scenario.pricing != Pricing{});
  visit("seed", scenario.seed, Unsigned{});
}

}  // namespace roofcast::scenario_json
