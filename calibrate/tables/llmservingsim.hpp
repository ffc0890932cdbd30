// Kernel times in the folders of LLMServingSim's profiler (casys-kaist/LLMServingSim,
// profiler/perf/GPU/MODEL/VARIANT/): meta.yaml, and for each tensor-parallel size a folder tpN with
//   dense         of one layer and one rank, by tokens of the step
//   per_sequence  LM head and sampling, by sequences
//   attention     one kernel over a prompt's chunk and decoding sequences of equal context; either
//                 may be absent (mixed_attention.hpp)
// Times are microseconds. skew.csv is not taken: its times are sums of three calls, and what it
// tells of sequences of unequal length follows from the attention table
// (model/step/attention_tail.hpp).
#pragma once

#include <string>

#include "calibrate/tables/imported_rows.hpp"
#include "model/deployment.hpp"

namespace roofcast {

/// What meta.yaml says of the runs, as text.
struct ProfilerMeta {
  std::string model{};         // "meta-llama/Llama-3.1-8B"
  std::string gpu{};           // "NVIDIA GeForce RTX 4090"
  std::string vllm_version{};  // "0.19.0"
  int samples = 1;             // a time is the mean of
  bool eager = true;           // timed without CUDA graphs
};

/// Throws Error when the file cannot be read, or does not name model, GPU and version.
ProfilerMeta read_profiler_meta(const std::string& path);

/// Adds the tables of `folder` (a tpN) to `rows`. `deployment` has the profiled model under that
/// tensor parallelism: its operators are what the times are of. Throws Error when a table is
/// missing or has other columns.
void read_llmservingsim(const std::string& folder, const ProfilerMeta& meta,
                        const Deployment& deployment, ImportedRows& rows);

}  // namespace roofcast
