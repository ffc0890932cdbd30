#include "model/step/measured_mixer_time.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

#include "model/step/efficiency.hpp"

namespace roofcast {

namespace {

struct Size {
  double x = 0;
  double y = 0;
};

Size decode_size(const AttentionOperator& op, const StepBatch& batch) {
  const auto sequences = static_cast<double>(batch.decode_sequences);
  const auto shares = sequences * static_cast<double>(op.context_ranks);
  return {sequences, static_cast<double>(batch.decode_attended[op.span_index]) / shares};
}

Size chunk_size(const PrefillChunk& chunk) {
  return {static_cast<double>(chunk.new_tokens), static_cast<double>(chunk.context_tokens)};
}

UnevenBatch uneven(const AttentionOperator& op, const StepBatch& batch, const Size& size) {
  UnevenBatch result{.sequences = size.x, .mean = size.y};
  for (std::size_t i = 0; i < kLongestKept; ++i) {
    const std::int64_t context = batch.decode_longest[i];
    if (context > 0) {
      result.longest[i] = static_cast<double>(attended_tokens(op.span, context - 1)) /
                          static_cast<double>(op.context_ranks);
    }
  }
  return result;
}

double tiles_of(std::int64_t queries) {
  return std::ceil(static_cast<double>(queries) / static_cast<double>(kQueryTile));
}

/// Query tiles that no sequence fills, over all heads.
double empty_tiles(const AttentionOperator& op, const StepBatch& batch) {
  std::int64_t longest = 0;
  double filled = 0;
  for (const PrefillChunk& chunk : batch.prefills) {
    longest = std::max(longest, chunk.new_tokens);
    filled += tiles_of(chunk.new_tokens);
  }
  const auto decoding = static_cast<double>(batch.decode_sequences);
  const double sequences = decoding + static_cast<double>(batch.prefills.size());
  const double empty = sequences * tiles_of(longest) - filled - decoding;
  return empty * static_cast<double>(op.decode_shape->query_heads);
}

double bytes_of_one_call(const Work& work) {
  return work.bytes.value / static_cast<double>(work.calls);
}

/// Time of a batch of prompts over the sum of its prompts' times. Prompts of unequal length count
/// as the number of equal ones with the same (sum of times)^2 / sum of squared times, each of the
/// mean size weighted by time: one long prompt beside short ones stays one.
double batch_ratio_of(const MeasuredTimes& times, const StepBatch& batch) {
  if (!times.has_batches() || batch.prefills.size() < 2) return 1;
  double sum = 0;
  double squares = 0;
  double x = 0;
  double y = 0;
  for (const PrefillChunk& chunk : batch.prefills) {
    const Size size = chunk_size(chunk);
    const double time = times.at(size.x, size.y).value;
    sum += time;
    squares += time * time;
    x += time * size.x;
    y += time * size.y;
  }
  return times.batch_ratio(std::max(1.0, sum * sum / squares), x / sum, y / sum);
}

}  // namespace

OperatorShape recurrent_shape(const Work& work) {
  return {.family = OperatorFamily::memory_bound, .name = work.name};
}

Seconds measured_decode(const MeasuredTimes& times, const AttentionOperator& op,
                        const StepBatch& batch, const Work&) {
  const Size size = decode_size(op, batch);
  Seconds total = times.at(size.x, size.y);
  if (times.has_tail()) total += times.tail(uneven(op, batch, size));
  if (times.empty_tile().value > 0) total += times.empty_tile() * empty_tiles(op, batch);
  return total;
}

Seconds measured_decode(const MeasuredTimes& times, const RecurrentOperator&, const StepBatch&,
                        const Work& work) {
  return times.at(bytes_of_one_call(work), 0);
}

Seconds measured_prefill(const MeasuredTimes& times, const AttentionOperator&,
                         const StepBatch& batch, const Work&) {
  Seconds total = times.fixed();
  Seconds longest{};
  for (const PrefillChunk& chunk : batch.prefills) {
    const Size size = chunk_size(chunk);
    const Seconds one = times.at(size.x, size.y);
    longest = std::max(longest, one);
    total += one - times.fixed();
  }
  return std::max(longest, total * batch_ratio_of(times, batch));
}

Seconds measured_prefill(const MeasuredTimes& times, const RecurrentOperator&, const StepBatch&,
                         const Work& work) {
  return times.at(bytes_of_one_call(work), 0);
}

Seconds expansion_time(const AttentionOperator& op, const StepBatch& batch, const Gpu& gpu) {
  std::int64_t cached = 0;
  for (const PrefillChunk& chunk : batch.prefills) cached += chunk.context_tokens;
  if (op.expand_flops == 0 || cached == 0) return {};
  const auto tokens = static_cast<double>(cached);
  const Work work{.name = "kv_b_proj",
                  .family = OperatorFamily::gemm,
                  .calls = op.prefill.calls,
                  .flops = Flops{tokens * op.expand_flops * static_cast<double>(op.prefill.calls)},
                  .compute = op.prefill.compute,
                  .format = std::string(name_of(op.prefill.compute)),
                  .scale = tokens};
  return expected_time(work, gpu, efficiency_of(work, gpu));
}

CurveAnswer explain_decode(const MeasuredTimes& times, const AttentionOperator& op,
                           const StepBatch& batch, const Work&) {
  const Size size = decode_size(op, batch);
  CurveAnswer answer = times.explain(size.x, size.y);
  if (batch.decode_new_tokens > 1) answer.provenance = Provenance::extended;  // one was timed
  return answer;
}

CurveAnswer explain_decode(const MeasuredTimes& times, const RecurrentOperator&, const StepBatch&,
                           const Work& work) {
  return times.explain(bytes_of_one_call(work), 0);
}

CurveAnswer explain_prefill(const MeasuredTimes& times, const AttentionOperator&,
                            const StepBatch& batch, const Work&) {
  CurveAnswer all{.provenance = Provenance::measured};
  double deviation = 0;
  for (const PrefillChunk& chunk : batch.prefills) {
    const Size size = chunk_size(chunk);
    const CurveAnswer one = times.explain(size.x, size.y);
    all.time += one.time;
    all.provenance = std::max(all.provenance, one.provenance);
    deviation += one.time.value * one.relative_uncertainty;
  }
  all.relative_uncertainty = deviation / all.time.value;
  return all;
}

CurveAnswer explain_prefill(const MeasuredTimes& times, const RecurrentOperator&, const StepBatch&,
                            const Work& work) {
  return times.explain(bytes_of_one_call(work), 0);
}

Seconds measured_total(Seconds one_call, std::int64_t calls, const Work& work, const Gpu& gpu) {
  return std::max(one_call * static_cast<double>(calls), physical_limit(work, gpu));
}

OperatorEstimate measured_estimate(CurveAnswer answer, Seconds total, Seconds fixed,
                                   const Work& work, const Gpu& gpu) {
  return {.work = work,
          .time = total,
          .bound = bound_of(work, gpu, total, fixed),
          .provenance = answer.provenance,
          .relative_uncertainty = answer.relative_uncertainty};
}

}  // namespace roofcast
