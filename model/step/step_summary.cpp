#include "model/step/step_summary.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include "model/step/deployment_operators.hpp"

namespace roofcast {

namespace {

constexpr std::int64_t kLargestBatch = std::int64_t{1} << 20;

bool is_product(const Work& work) {
  return work.family == OperatorFamily::gemm || work.family == OperatorFamily::moe;
}

bool attends(const Work& work) { return is_attention(work.family); }

bool is_collective(const Work& work) { return work.family == OperatorFamily::collective; }

Seconds at_peak(const Work& work, const Gpu& gpu) {
  return work.flops.value > 0 ? work.flops / gpu.peak_for(work.compute) : Seconds{};
}

void add(StepPart& part, const Work& work, const Gpu& gpu) {
  part.flops += work.flops;
  if (is_collective(work)) return;
  part.bytes += work.bytes;
  part.at_peak += at_peak(work, gpu);
  part.at_bandwidth += work.bytes / gpu.memory_bandwidth;
}

StepLimit limit_of(Bound bound) {
  switch (bound) {
    case Bound::compute:
      return StepLimit::compute;
    case Bound::memory:
      return StepLimit::memory;
    case Bound::latency:
      return StepLimit::latency;
    case Bound::communication:
      return StepLimit::communication;
  }
  return StepLimit::memory;
}

/// The largest of `times` and its share of `total`.
template <std::size_t kCount>
std::pair<std::size_t, double> largest(const std::array<Seconds, kCount>& times, Seconds total) {
  const auto max = std::ranges::max_element(times);
  return {static_cast<std::size_t>(max - times.begin()), total.value > 0 ? *max / total : 0.0};
}

void add_limits(StepSummary& summary, const StepEstimate& step) {
  std::array<Seconds, static_cast<std::size_t>(StepLimit::host) + 1> by_limit{};
  std::array<Seconds, static_cast<std::size_t>(Provenance::datasheet) + 1> by_provenance{};
  Seconds operators;
  for (const OperatorEstimate& op : step.operators) {
    by_limit[static_cast<std::size_t>(limit_of(op.bound))] += op.time;
    by_provenance[static_cast<std::size_t>(op.provenance)] += op.time;
    operators += op.time;
  }
  // Exposed host work, and launches that take longer than what they launch.
  by_limit.back() = std::max(Seconds{}, step.total - operators);
  const auto [limit, share] = largest(by_limit, step.total);
  summary.binding = static_cast<StepLimit>(limit);
  summary.binding_share = share;
  const auto [provenance, source_share] = largest(by_provenance, operators);
  summary.provenance = static_cast<Provenance>(provenance);
  summary.provenance_share = source_share;
}

/// The work of a decode step, without padding to captured graphs.
std::vector<Work> decode_work(const StepOperators& operators, const StepBatch& batch) {
  std::vector<Work> all;
  for (const auto* list : {&operators.per_token, &operators.per_row}) {
    for (const LinearOperator& op : *list) {
      if (op.phase == Phase::prefill) continue;
      all.push_back(op.work);
      set_work(op, batch.decode_sequences, all.back());
    }
  }
  const auto add_mixers = [&](const auto& mixers) {
    for (const auto& op : mixers) {
      all.push_back(op.decode);
      set_decode_work(op, batch, all.back());
    }
  };
  add_mixers(operators.attention);
  add_mixers(operators.recurrent);
  return all;
}

/// The smallest batch for which `holds`, which stays true for all larger ones.
template <class Holds>
std::optional<std::int64_t> smallest_batch(Holds holds) {
  std::int64_t low = 0;
  std::int64_t high = 1;
  while (high < kLargestBatch && !holds(high)) {
    low = high;
    high *= 2;
  }
  if (!holds(high)) return std::nullopt;
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (holds(middle) ? high : low) = middle;
  }
  return high;
}

}  // namespace

std::optional<FlopsPerByte> StepPart::intensity() const {
  if (bytes.value <= 0) return std::nullopt;
  return flops / bytes;
}

std::string_view name_of(StepLimit limit) {
  switch (limit) {
    case StepLimit::compute:
      return "compute";
    case StepLimit::memory:
      return "memory";
    case StepLimit::latency:
      return "latency";
    case StepLimit::communication:
      return "communication";
    case StepLimit::host:
      return "host";
  }
  return "unknown";
}

StepSummary summary_of(const StepEstimate& step, const Gpu& gpu) {
  StepSummary summary;
  Bytes stored;
  Seconds sent;
  for (const OperatorEstimate& op : step.operators) {
    const Work& work = op.work;
    add(summary.whole, work, gpu);
    if (is_product(work) || attends(work)) {
      StepPart& part = is_product(work) ? summary.products : summary.attention;
      add(part, work, gpu);
      part.time += op.time;
      summary.needed_compute += at_peak(work, gpu);
    }
    if (is_collective(work)) {
      sent += physical_limit(work, gpu);
    } else {
      stored += work.stored_bytes;
    }
  }
  summary.whole.time = step.total;
  summary.needed_memory = stored / gpu.memory_bandwidth;
  summary.lower_bound = std::max({summary.needed_compute, summary.needed_memory, sent});
  add_limits(summary, step);
  return summary;
}

ComputeBoundBatches compute_bound_batches(const Deployment& deployment, std::int64_t context) {
  const StepOperators operators = step_operators(deployment);
  const auto smallest = [&](auto counts) -> std::optional<std::int64_t> {
    const auto of_a_rank = smallest_batch([&](std::int64_t batch) {
      StepPart part;
      for (const Work& work :
           decode_work(operators, decode_batch(deployment.model, batch, context)))
        if (counts(work)) add(part, work, deployment.gpu);
      return part.bytes.value > 0 && part.is_compute_bound();
    });
    if (!of_a_rank) return std::nullopt;
    return (*of_a_rank - 1) * deployment.parallel.data + 1;  // shares are rounded up
  };
  return {.products = smallest(is_product),
          .attention = smallest(attends),
          .step = smallest([](const Work&) { return true; })};
}

}  // namespace roofcast
