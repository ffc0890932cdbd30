// All formats that can be read: how each is recognised and read.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "base/io/byte_source.hpp"
#include "reports/importers/importer.hpp"
#include "reports/importers/result_objects.hpp"

namespace roofcast {

using MeasuredRuns = std::vector<MeasuredRun>;

/// A format of JSON objects. `matches` sees the first object of a file.
struct JsonFormat {
  std::string_view name;
  bool (*matches)(const nlohmann::json& first);
  MeasuredRuns (*read)(ResultObjects& objects);
};

/// In the order in which they are tried.
std::span<const JsonFormat> json_formats();

/// Reads a file in which each object is one result.
template <void (*read_one)(const JsonReader&, MeasuredRuns&)>
MeasuredRuns each_object(ResultObjects& objects) {
  MeasuredRuns runs;
  while (const auto object = objects.next()) read_one(*object, runs);
  return runs;
}

// ---- recognising each format, and reading one result of it

bool is_vllm_serve(const nlohmann::json& first);
void read_vllm_serve(const JsonReader& object, MeasuredRuns& runs);
bool is_vllm_latency(const nlohmann::json& first);
void read_vllm_latency(const JsonReader& object, MeasuredRuns& runs);
bool is_vllm_throughput(const nlohmann::json& first);
void read_vllm_throughput(const JsonReader& object, MeasuredRuns& runs);
bool is_sglang_serving(const nlohmann::json& first);
void read_sglang_serving(const JsonReader& object, MeasuredRuns& runs);
bool is_sglang_batch(const nlohmann::json& first);
void read_sglang_batch(const JsonReader& object, MeasuredRuns& runs);
bool is_genai_perf(const nlohmann::json& first);
void read_genai_perf(const JsonReader& object, MeasuredRuns& runs);
bool is_aiperf(const nlohmann::json& first);
void read_aiperf(const JsonReader& object, MeasuredRuns& runs);
bool is_guidellm(const nlohmann::json& first);
void read_guidellm(const JsonReader& report, MeasuredRuns& runs);
bool is_inference_perf(const nlohmann::json& first);
void read_inference_perf(const JsonReader& object, MeasuredRuns& runs);
bool is_llmperf_summary(const nlohmann::json& first);
void read_llmperf_summary(const JsonReader& object, MeasuredRuns& runs);
bool is_trtllm_bench(const nlohmann::json& first);
void read_trtllm_bench(const JsonReader& report, MeasuredRuns& runs);
bool is_llmd_report(const nlohmann::json& first);
void read_llmd_report(const JsonReader& object, MeasuredRuns& runs);
bool is_inferencex(const nlohmann::json& first);
void read_inferencex(const JsonReader& row, MeasuredRuns& runs);
bool is_llama_bench(const nlohmann::json& first);
void read_llama_bench(const JsonReader& test, MeasuredRuns& runs);

// ---- formats in which a whole file is one result

bool is_aiperf_records(const nlohmann::json& first);
MeasuredRuns read_aiperf_records(ResultObjects& objects);
bool is_llmperf_individual(const nlohmann::json& first);
MeasuredRuns read_llmperf_individual(ResultObjects& objects);
bool is_inference_perf_requests(const nlohmann::json& first);
MeasuredRuns read_inference_perf_requests(ResultObjects& objects);
bool is_request_log(const nlohmann::json& first);
MeasuredRuns read_request_log(ResultObjects& objects);
bool is_token_timestamps(const nlohmann::json& first);
MeasuredRuns read_token_timestamps(ResultObjects& objects);

}  // namespace roofcast
