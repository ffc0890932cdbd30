// The keys of a scenario file. The reader accepts only these; scenario.schema.json describes them,
// and a test compares the two. The keys of engine_options come from the table of knobs
// (engine_options.hpp).
#pragma once

#include <array>

namespace roofcast::scenario_keys {

inline constexpr std::array kTop = {"$schema",
                                    "schema_version",
                                    "name",
                                    "model",
                                    "gpu",
                                    "engine",
                                    "quantization",
                                    "parallel",
                                    "engine_options",
                                    "cluster",
                                    "workload",
                                    "max_concurrency",
                                    "slo",
                                    "seed"};
inline constexpr std::array kParallel = {"tensor", "pipeline", "data", "expert"};
inline constexpr std::array kSynthetic = {
    "type",      "num_prompts",   "request_rate", "burstiness",        "normalised",
    "ramp_up",   "stages",        "cycle",        "diurnal",           "num_warmups",
    "input_len", "output_len",    "range_ratio",  "range_ratio_style", "shared_prefix",
    "sessions",  "lora_adapters", "lora_zipf"};
inline constexpr std::array kRampUp = {"strategy", "start_rps", "end_rps"};
inline constexpr std::array kRateStage = {"rate", "duration_s", "warm_up"};
inline constexpr std::array kRatePhase = {"rate", "duration_s"};
inline constexpr std::array kDiurnal = {"low", "high", "period_s"};
inline constexpr std::array kRangeRatio = {"input", "output"};
inline constexpr std::array kSharedPrefix = {"num_groups", "num_prompts_per_group",
                                             "system_prompt_len"};
inline constexpr std::array kSessions = {"turns", "think_time_s", "first_input_len",
                                         "max_session_tokens"};
inline constexpr std::array kTrace = {
    "type",       "path",       "format",       "columns",       "time_unit",   "trace_block_size",
    "time_scale", "rate_scale", "request_rate", "skip_bad_rows", "drop_failed", "max_requests"};
inline constexpr std::array kTraceColumns = {"time",     "input",   "output", "class",
                                             "priority", "session", "delay",  "hash_ids"};
inline constexpr std::array kCluster = {"pools",
                                        "router",
                                        "decode_router",
                                        "cache_threshold",
                                        "balance_abs_threshold",
                                        "balance_rel_threshold",
                                        "kv_link",
                                        "failures"};
inline constexpr std::array kPool = {"name",        "role",         "replicas",   "gpu",
                                     "engine",      "quantization", "parallel",   "engine_options",
                                     "rank_router", "lockstep",     "autoscaling"};
inline constexpr std::array kAutoscaling = {
    "min_replicas", "max_replicas",       "metric", "target", "interval_s",
    "start_up_s",   "scale_down_window_s"};
inline constexpr std::array kKvLink = {"name", "bandwidth_bytes_per_s", "latency_s", "shared",
                                       "overlapped"};
inline constexpr std::array kFailure = {"time_s", "pool", "replica", "requests", "back_after_s"};
inline constexpr std::array kSlo = {"goodput", "targets", "classes"};
inline constexpr std::array kGoodput = {"metric", "limit_s"};
inline constexpr std::array kClass = {"name", "share", "targets"};
inline constexpr std::array kTarget = {"metric", "percentile", "limit_s"};

}  // namespace roofcast::scenario_keys
