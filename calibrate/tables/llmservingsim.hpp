// Reads kernel times from the folders of LLMServingSim's profiler (casys-kaist/LLMServingSim,
// profiler/perf/GPU/MODEL/VARIANT/): meta.yaml, and for each tensor-parallel size a folder tpN with
//   dense         one layer of one rank, by tokens of the step
//   per_sequence  LM head and sampling, by sequences
//   attention     one kernel over a prompt's chunk and decoding sequences of equal context; either
//                 may be absent (mixed_attention.hpp)
// Times are in microseconds. skew.csv is not used: its times are sums of three calls, and its
// information on sequences of unequal length follows from the attention table
// (model/step/attention_tail.hpp).
#pragma once

#include <string>

#include "calibrate/tables/imported_rows.hpp"
#include "model/deployment.hpp"

namespace roofcast {

/// Contents of meta.yaml, as text.
struct ProfilerMeta {
  std::string model{};         // "meta-llama/Llama-3.1-8B"
  std::string gpu{};           // "NVIDIA GeForce RTX 4090"
  std::string vllm_version{};  // "0.19.0"
  int samples = 1;             // number of samples that a time averages
  bool eager = true;           // timed without CUDA graphs
};

/// Throws Error if the file cannot be read, or does not name model, GPU and version.
ProfilerMeta read_profiler_meta(const std::string& path);

/// Adds the tables of `folder` (a tpN) to `rows`. `deployment` must have the profiled model at that
/// tensor parallelism; its operators are what was timed. Throws Error if a table is missing or has
/// other columns.
void read_llmservingsim(const std::string& folder, const ProfilerMeta& meta,
                        const Deployment& deployment, ImportedRows& rows);

}  // namespace roofcast
