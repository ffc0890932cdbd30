#include "tests/model/memory/memory_fit.hpp"

#include <algorithm>
#include <cassert>
#include <vector>

#include "calibrate/fit.hpp"

namespace roofcast {
namespace {

std::optional<Bytes> mean(const std::vector<Bytes>& values) {
  if (values.empty()) return std::nullopt;
  Bytes total;
  for (const Bytes value : values) total += value;
  return total / static_cast<double>(values.size());
}

}  // namespace

std::optional<double> fit_logits_bytes(std::span<const StartUpLog> logs,
                                       const MemoryConstants& first_guess) {
  MemoryConstants without_logits = first_guess;
  without_logits.logits_bytes = 0;
  std::vector<double> elements;
  std::vector<double> bytes;
  for (const StartUpLog& log : logs) {
    if (!log.activation || log.shape.encoder_outputs.value > 0) continue;
    const Bytes others = std::max(forward_peak(log.shape, first_guess), first_guess.compile_peak);
    if (sampler_peak(log.shape, first_guess) <= others) continue;
    elements.push_back(log.shape.logits);
    bytes.push_back((*log.activation - sampler_peak(log.shape, without_logits)).value);
  }
  if (bytes.empty()) return std::nullopt;
  return fit_non_negative(elements, 1, bytes).front();
}

ForwardFit fit_forward(std::span<const StartUpLog> logs) {
  std::vector<double> rows;
  std::vector<double> bytes;
  for (const StartUpLog& log : logs) {
    assert(log.activation);
    rows.push_back(log.shape.element_bytes * log.shape.intermediate);
    rows.push_back(log.shape.element_bytes * log.shape.hidden);
    bytes.push_back(log.activation->value);
  }
  const std::vector<double> fitted = fit_non_negative(rows, 2, bytes);
  return {.intermediate = fitted[0], .hidden = fitted[1]};
}

std::optional<Bytes> fit_compile_peak(std::span<const StartUpLog> logs,
                                      const MemoryConstants& constants) {
  std::vector<Bytes> values;
  for (const StartUpLog& log : logs) {
    if (!log.activation) continue;
    const Bytes passes =
        std::max(sampler_peak(log.shape, constants), forward_peak(log.shape, constants));
    if (passes < constants.compile_peak) values.push_back(*log.activation);
  }
  return mean(values);
}

std::optional<Bytes> fit_non_torch(std::span<const StartUpLog> logs, bool several_gpus) {
  std::vector<Bytes> values;
  for (const StartUpLog& log : logs) {
    if (log.non_torch && log.several_gpus == several_gpus) values.push_back(*log.non_torch);
  }
  return mean(values);
}

GraphFit fit_graphs(std::span<const StartUpLog> logs) {
  std::vector<double> rows;
  std::vector<double> bytes;
  for (const StartUpLog& log : logs) {
    if (!log.graphs) continue;
    rows.push_back(1.0);
    rows.push_back(static_cast<double>(log.stage_layers));
    bytes.push_back(log.graphs->value);
  }
  const std::vector<double> fitted = fit_non_negative(rows, 2, bytes);
  return {.base = Bytes{fitted[0]}, .per_layer = Bytes{fitted[1]}};
}

}  // namespace roofcast
