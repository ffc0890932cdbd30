#include "model/step/image_work.hpp"

#include <algorithm>

namespace roofcast {
namespace {

/// Matrices of a layer: queries, keys and values together; output; FFN in and out.
constexpr std::int64_t kMatrices = 4;

/// Operators of a layer: two norms, four matrices, rotary positions, attention, the activation
/// function and two sums.
constexpr std::int64_t kOperators = 11;

/// Those that only read and write memory: all but the matrices and attention.
constexpr std::int64_t kMemoryOperators = kOperators - kMatrices - 1;

/// Reads and writes of a patch's state in a layer beside its matrices: two norms (2 each), two sums
/// (3 each), rotary positions of queries and keys (4); the activation function reads and writes the
/// FFN's intermediate state.
constexpr double kStatePasses = 14, kIntermediatePasses = 2;

constexpr double kElementBytes = 2;

/// Patches to which each attends, on average over the layers.
double attended_patches(const VisionEncoder& vision, double of_image) {
  const auto layers = static_cast<double>(vision.layers);
  const auto windowed = static_cast<double>(vision.windowed_layers);
  const double tile = vision.tile_patches > 0 ? static_cast<double>(vision.tile_patches) : of_image;
  const double whole = std::min(of_image, tile);
  const double window = std::min(of_image, static_cast<double>(vision.window_patches));
  return (whole * (layers - windowed) + window * windowed) / layers;
}

Work all_reduces(const Deployment& deployment, double state_bytes) {
  const auto calls = 2 * deployment.model.vision.layers;
  return {.name = "vision.all_reduce",
          .family = OperatorFamily::collective,
          .calls = calls,
          .bytes = Bytes{state_bytes * static_cast<double>(calls)},
          .scale = state_bytes,
          .ranks = deployment.parallel.tensor,
          .exchange = Exchange::all_reduce};
}

}  // namespace

std::vector<Work> image_work(const Deployment& deployment, std::int64_t images,
                             std::int64_t tokens) {
  const VisionEncoder& vision = deployment.model.vision;
  if (vision.patches_per_token == 0 || vision.layers == 0 || images == 0) return {};
  const auto layers = static_cast<double>(vision.layers);
  const auto width = static_cast<double>(vision.width);
  const auto ranks = static_cast<double>(deployment.parallel.tensor);
  const auto of_image = static_cast<double>(tokens * vision.patches_per_token);
  const double patches = of_image * static_cast<double>(images);
  const auto all_tokens = static_cast<double>(tokens * images);
  const auto per_patch = static_cast<double>(vision.patch_parameters);
  const auto per_token = static_cast<double>(vision.token_parameters);
  const Bytes weights{kElementBytes * (per_patch + per_token) / ranks};
  const double state = patches * width * kElementBytes;
  const double intermediate =
      patches * static_cast<double>(vision.intermediate) * kElementBytes / ranks;

  std::vector<Work> work;
  work.push_back({.name = "vision.matrices",
                  .family = OperatorFamily::gemm,
                  .calls = kMatrices * vision.layers,
                  .flops = Flops{2 * (per_patch * patches + per_token * all_tokens) / ranks},
                  .bytes = weights,
                  .stored_bytes = weights,
                  .format = "bf16",
                  .scale = patches});
  // Efficiency depends on the work of a query row (efficiency.cpp, default_prefill), which the
  // curve states as the length x of a causal prompt with heads of 128 elements: it attends to x / 2
  // on average. Encoders' heads have 64 to 88, about half, so that a patch has the work of x =
  // attended.
  const double attended = attended_patches(vision, of_image);
  work.push_back({.name = "vision.attention",
                  .family = OperatorFamily::prefill_attention,
                  .calls = vision.layers,
                  .flops = Flops{4 * patches * attended * width * layers / ranks},
                  .bytes = Bytes{4 * state * layers / ranks},
                  .scale = std::max(1.0, attended)});
  const double passes = (kStatePasses * state + kIntermediatePasses * intermediate) * layers;
  work.push_back({.name = "vision.memory_bound",
                  .family = OperatorFamily::memory_bound,
                  .calls = kMemoryOperators * vision.layers,
                  .bytes = Bytes{passes},
                  .scale = passes / (static_cast<double>(kMemoryOperators) * layers)});
  if (deployment.parallel.tensor > 1) work.push_back(all_reduces(deployment, state));
  return work;
}

Seconds image_time(const Deployment& deployment, std::int64_t images, std::int64_t tokens) {
  Seconds kernels;
  for (const Work& work : image_work(deployment, images, tokens)) {
    kernels += estimate(work, deployment.gpu).time;
  }
  if (kernels.value == 0) return {};
  const auto operators = static_cast<double>(kOperators * deployment.model.vision.layers);
  return std::max(kernels, deployment.engine.host.eager_launch * operators);
}

}  // namespace roofcast
