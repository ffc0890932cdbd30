#include "reports/importers/formats.hpp"

#include <array>

namespace roofcast {
namespace {

// Narrower formats come first: SGLang writes most of vLLM's keys and some of its own, genai-perf
// all of aiperf's.
constexpr std::array kJsonFormats = {
    JsonFormat{"sglang-bench-serving", is_sglang_serving, each_object<read_sglang_serving>},
    JsonFormat{"sglang-one-batch", is_sglang_batch, each_object<read_sglang_batch>},
    JsonFormat{"vllm-bench-serve", is_vllm_serve, each_object<read_vllm_serve>},
    JsonFormat{"vllm-bench-latency", is_vllm_latency, each_object<read_vllm_latency>},
    JsonFormat{"vllm-bench-throughput", is_vllm_throughput, each_object<read_vllm_throughput>},
    JsonFormat{"genai-perf", is_genai_perf, each_object<read_genai_perf>},
    JsonFormat{"aiperf", is_aiperf, each_object<read_aiperf>},
    JsonFormat{"guidellm", is_guidellm, each_object<read_guidellm>},
    JsonFormat{"inference-perf", is_inference_perf, each_object<read_inference_perf>},
    JsonFormat{"llmperf", is_llmperf_summary, each_object<read_llmperf_summary>},
    JsonFormat{"trtllm-bench", is_trtllm_bench, each_object<read_trtllm_bench>},
    JsonFormat{"llm-d-report", is_llmd_report, each_object<read_llmd_report>},
    JsonFormat{"inferencex", is_inferencex, each_object<read_inferencex>},
    JsonFormat{"llama-bench", is_llama_bench, each_object<read_llama_bench>},
    JsonFormat{"aiperf-records", is_aiperf_records, read_aiperf_records},
    JsonFormat{"llmperf-individual", is_llmperf_individual, read_llmperf_individual},
    JsonFormat{"inference-perf-requests", is_inference_perf_requests, read_inference_perf_requests},
    JsonFormat{"request-log", is_request_log, read_request_log},
    JsonFormat{"token-timestamps", is_token_timestamps, read_token_timestamps},
};

}  // namespace

std::span<const JsonFormat> json_formats() { return kJsonFormats; }

}  // namespace roofcast
