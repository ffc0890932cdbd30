// Runs steps of a model on a device: embedding, layers, LM head and greedy sampling, with the
// kernels that calibration times and a paged KV cache.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "calibrate/runtime/device_weights.hpp"
#include "calibrate/runtime/kernel_choice.hpp"
#include "calibrate/runtime/runnable_model.hpp"
#include "calibrate/runtime/step_rows.hpp"
#include "kernels/backend.hpp"

namespace roofcast::runtime {

/// Maximum sizes for which buffers are allocated.
struct ExecutorLimits {
  std::int64_t rows = 2048;      // new tokens per step
  std::int64_t sequences = 256;  // per step
  std::int64_t context = 4096;   // tokens per sequence
  std::int32_t pages = 0;
  int page_size = 16;

  int pages_per_sequence() const { return static_cast<int>((context + page_size - 1) / page_size); }
};

/// Device bytes in addition to the weights: KV cache, activations, inputs.
double buffer_bytes(const RunnableModel& model, const ExecutorLimits& limits);

class Executor {
 public:
  /// `backend` must outlive this. Passes on the backend's exception if memory is insufficient;
  /// throws Error if it lacks a kernel for the model.
  Executor(kernels::Backend& backend, RunnableModel model, const ExecutorLimits& limits,
           std::uint64_t seed);
  /// The same with weights of the caller, which are those of `model` on `backend`.
  Executor(kernels::Backend& backend, RunnableModel model, const ExecutorLimits& limits,
           DeviceWeights weights);
  ~Executor();

  /// Chooses kernels and makes the recordings that a step of this shape needs, so that the first
  /// run() is not slower.
  void prepare(const StepRows& rows);

  /// Runs a step to completion. Returns the next token of each sampled row.
  std::vector<std::int32_t> run(const StepRows& rows);

  /// The logits of the sampled rows of the last step, [rows, vocabulary] in the model's element.
  const void* logits() const;

  const RunnableModel& model() const { return model_; }
  const ExecutorLimits& limits() const { return limits_; }

 private:
  struct Buffers;
  /// The sizes on which a recording depends.
  struct Shape {
    std::int64_t rows = 0;
    std::int64_t prompt_rows = 0;
    int prompts = 0;
    int decodes = 0;
    std::int64_t longest_query = 0;
    std::int64_t longest_prompt = 0;
    std::int64_t longest_decode = 0;
    std::int64_t sampled = 0;
  };
  static Shape shape_of(const StepRows& rows);

  void upload(const StepRows& rows);
  void launch_all(const Shape& shape);
  void launch_attention(const Shape& shape, std::size_t layer);
  kernels::PrefillAttention prompts_of(const Shape& shape, std::size_t layer) const;
  void launch_prompts(const Shape& shape, std::size_t layer);
  void launch_decodes(const Shape& shape, std::size_t layer);
  void launch_block(const Shape& shape, std::size_t layer);
  void launch_experts(const Shape& shape, std::size_t layer);
  void launch_sampling(const Shape& shape);
  void multiply(std::int64_t m, const Matrix& matrix, const void* input, void* output);
  kernels::PagedCache cache_of(std::size_t layer) const;

  kernels::Backend& backend_;
  RunnableModel model_;
  ExecutorLimits limits_;
  DeviceWeights weights_;
  GemmChooser gemms_;
  std::unique_ptr<Buffers> buffers_;
  /// Decode steps by batch size and longest length, rounded up to a power of two.
  std::map<std::pair<int, std::int64_t>, std::unique_ptr<kernels::Recording>> recorded_;
};

}  // namespace roofcast::runtime
