#include "calibrate/case_grid.hpp"

#include <algorithm>
#include <map>

namespace roofcast {

namespace {

/// Sizes just after a power of two, and middles, are timed from this power on.
constexpr std::int64_t kFirstStep = 16;

constexpr std::int64_t kMinContext = 128;
constexpr std::int64_t kMinChunk = 16;
constexpr std::int64_t kMinPrefix = 256;
constexpr std::int64_t kMinMessage = 4096;

/// 0 for powers of 8, 1 for the other powers of two.
int pass_of_power(int exponent) { return exponent % 3 == 0 ? 0 : 1; }

/// kMinContext times 1, 4, 16 ... below `largest`, and `largest` itself.
std::vector<std::int64_t> contexts_to(std::int64_t largest) {
  std::vector<std::int64_t> contexts;
  for (std::int64_t context = kMinContext; context < largest; context *= 4) {
    contexts.push_back(context);
  }
  contexts.push_back(largest);
  return contexts;
}

}  // namespace

std::vector<AxisPoint> token_axis(std::int64_t largest) {
  std::vector<AxisPoint> axis;
  int exponent = 0;
  for (std::int64_t value = 1; value <= largest; value *= 2) {
    axis.push_back({value, pass_of_power(exponent++)});
  }
  if (!axis.empty()) axis.back().pass = 0;  // beyond the last point curves only extrapolate
  return axis;
}

std::vector<AxisPoint> gemm_axis(std::int64_t largest) {
  std::vector<AxisPoint> axis = token_axis(largest);
  for (std::int64_t power = kFirstStep; power < largest; power *= 2) {
    axis.push_back({power + 1, 2});
    if (power + power / 2 <= largest) axis.push_back({power + power / 2, 3});
  }
  std::sort(axis.begin(), axis.end(),
            [](const AxisPoint& a, const AxisPoint& b) { return a.value < b.value; });
  return axis;
}

std::vector<AxisPoint> gemm_axis(std::int64_t largest, const kernels::RowForm& form) {
  if (form.tile == 0) return gemm_axis(largest);
  std::map<std::int64_t, int> passes;  // by size; a size keeps its first pass
  const auto add = [&](std::int64_t value, int pass) {
    if (value <= largest) passes.emplace(value, pass);
  };
  add(1, 0);
  add(largest, 0);
  const std::int64_t tile = std::max(form.tile, 2);
  int exponent = 0;
  for (std::int64_t value = tile; value < form.block; value *= 2, ++exponent) {
    add(value, exponent % 2 == 1 ? 0 : 1);
    const std::int64_t middle = value + value / 2;
    if (exponent > 0 && middle < form.block) add(middle, 2);
  }
  for (std::int64_t value = 2; value < tile; value *= 2) add(value, 2);
  if (form.streamed > tile) add(form.streamed + 1, 2);
  exponent = 0;
  for (std::int64_t value = form.block; value <= largest; value *= 2, ++exponent) {
    add(value, exponent % 3 == 2 ? 0 : 1);
  }
  std::vector<AxisPoint> axis;
  for (const auto& [value, pass] : passes) axis.push_back({value, pass});
  return axis;
}

std::vector<GridPoint> decode_grid(std::int64_t max_sequences, std::int64_t longest,
                                   double max_tokens) {
  const std::vector<std::int64_t> contexts = contexts_to(longest);
  std::vector<GridPoint> grid;
  for (const auto& [sequences, pass] : token_axis(max_sequences)) {
    for (std::size_t i = 0; i < contexts.size(); ++i) {
      if (static_cast<double>(sequences) * static_cast<double>(contexts[i]) > max_tokens) continue;
      // Every second context and the longest are coarse, so that each row has both ends.
      const bool coarse = i % 2 == 0 || i + 1 == contexts.size();
      grid.push_back({sequences, contexts[i], pass + (coarse ? 0 : 1)});
    }
  }
  return grid;
}

std::vector<AxisPoint> message_axis(std::int64_t largest, int octaves) {
  std::vector<AxisPoint> axis;
  int exponent = 0;
  for (std::int64_t value = kMinMessage; value <= largest; value <<= octaves) {
    axis.push_back({value, octaves > 1 ? 0 : pass_of_power(exponent++)});
  }
  if (!axis.empty()) axis.back().pass = 0;
  return axis;
}

std::vector<GridPoint> prefill_grid(std::int64_t max_new, std::int64_t longest) {
  std::vector<GridPoint> grid;
  for (const auto& [tokens, power_pass] : token_axis(std::min(max_new, longest))) {
    if (tokens < kMinChunk) continue;
    grid.push_back({tokens, 0, power_pass});
    bool coarse = false;  // 1k, 16k, ... before 256, 4k, ...
    for (std::int64_t cached = kMinPrefix; tokens + cached <= longest; cached *= 4) {
      grid.push_back({tokens, cached, power_pass + (coarse ? 1 : 2)});
      coarse = !coarse;
    }
  }
  return grid;
}

}  // namespace roofcast
