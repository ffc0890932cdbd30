#include "model/step/timed_block.hpp"

#include <algorithm>
#include <cassert>
#include <iterator>
#include <string>
#include <utility>

#include "model/curves/curve_source.hpp"

namespace roofcast {

namespace {

/// No form of one block takes less.
Seconds min_time(const OperatorShape& shape, double x, double y, const Gpu& gpu) {
  const ShapeWork work = shape_work(shape, x, y, gpu.multiprocessors);
  const DType compute = kernel_format(shape.format)->compute;
  return std::max(work.flops / gpu.peak_for(compute), work.stored_bytes / gpu.memory_bandwidth);
}

/// The sum of two answers that are both part of a step.
CurveAnswer both_of(const std::optional<CurveAnswer>& a, const CurveAnswer& b) {
  if (!a) return b;
  const Seconds time = a->time + b.time;
  const double deviation =
      a->time.value * a->relative_uncertainty + b.time.value * b.relative_uncertainty;
  return {.time = time,
          .provenance = std::max(a->provenance, b.provenance),
          .relative_uncertainty = deviation / time.value};
}

std::vector<LinearOperator> of_phase(const std::vector<LinearOperator>& operators, Phase phase) {
  std::vector<LinearOperator> list;
  std::copy_if(operators.begin(), operators.end(), std::back_inserter(list),
               [&](const LinearOperator& op) { return op.phase == phase; });
  return list;
}

/// Timed blocks of the engine's own: what surrounds attention in a block depends on the engine
/// (norms, launches), so that another's says little.
std::optional<MeasuredTimes> block_times(const Gpu& gpu, const OperatorShape& shape,
                                         std::string_view engine) {
  auto times = measured_times(gpu, shape, {}, engine);
  if (times && !times->source().empty() && !is_of_engine(times->source(), engine)) return {};
  return times;
}

}  // namespace

TimedBlock::Side::Side(const OperatorShape& block, const Gpu& gpu, std::string_view engine)
    : shape(block), times(block_times(gpu, block, engine)) {}

TimedBlock::TimedBlock(const BlockShapes& shapes, const std::vector<LinearOperator>& parts,
                       std::vector<AttentionOperator> mixers, const Gpu& gpu,
                       std::string_view engine)
    : decode_(shapes.decode, gpu, engine),
      prefill_(shapes.prefill, gpu, engine),
      parts_(timed(of_phase(parts, Phase::all), gpu, engine)),
      decode_parts_(timed(of_phase(parts, Phase::decode), gpu, engine)),
      prefill_parts_(timed(of_phase(parts, Phase::prefill), gpu, engine)),
      operators_(std::move(mixers)) {
  assert(!operators_.empty());
  for (const AttentionOperator& op : operators_) {
    mixers_.emplace_back(op, gpu, engine);
    layers_ += static_cast<double>(op.decode.calls);
  }
}

Seconds TimedBlock::parts_time(std::int64_t tokens, const Gpu& gpu) const {
  return parts_times_.at(tokens, [&] {
    Seconds total;
    for (const TimedOperator& part : parts_) total += part.time(tokens, gpu);
    return total;
  });
}

void TimedBlock::replace(const std::vector<LinearOperator>& timed_otherwise,
                         const std::vector<LinearOperator>& in_own_format, const Gpu& gpu,
                         std::string_view engine) {
  timed_otherwise_ = timed(timed_otherwise, gpu, engine);
  replacing_ = timed(in_own_format, gpu, engine);
}

Seconds TimedBlock::in_own_formats(Seconds block, std::int64_t tokens, const Gpu& gpu) const {
  Seconds replaced;
  for (const TimedOperator& part : timed_otherwise_) replaced += part.time(tokens, gpu);
  Seconds own;
  for (const TimedOperator& part : replacing_) own += part.time(tokens, gpu);
  return std::max(own, block - replaced + own);
}

/// Sequences, with those that pad the step, and the tokens that each attends to.
TimedBlock::Size TimedBlock::decode_size(const StepBatch& batch, std::int64_t tokens) const {
  const double sequences =
      static_cast<double>(tokens) / static_cast<double>(batch.decode_new_tokens);
  const auto attended = static_cast<double>(batch.decode_attended[operators_.front().context_span]);
  return {sequences, std::max(1.0, attended / sequences)};
}

Seconds TimedBlock::decode_time(const StepBatch& batch, std::int64_t tokens, const Gpu& gpu) const {
  if (!decode_.times) {
    Seconds total = parts_time(tokens, gpu);
    for (const TimedOperator& part : decode_parts_) total += part.time(tokens, gpu);
    for (const auto& mixer : mixers_) total += mixer.decode_time(batch, gpu);
    return total;
  }
  const Size size = decode_size(batch, tokens);
  Seconds one =
      std::max(decode_.times->at(size.x, size.y), min_time(decode_.shape, size.x, size.y, gpu));
  // One new token was timed; further ones of a sequence read the cache with it.
  const std::int64_t timed = tokens / batch.decode_new_tokens;
  const Seconds block = in_own_formats(one * layers_, timed, gpu);
  if (timed == tokens) return block;
  return block + parts_time(tokens, gpu) - parts_time(timed, gpu);
}

Seconds TimedBlock::prefill_time(const StepBatch& batch, std::int64_t tokens,
                                 const Gpu& gpu) const {
  if (!prefill_.times) {
    Seconds total = parts_time(tokens, gpu);
    for (const TimedOperator& part : prefill_parts_) total += part.time(tokens, gpu);
    for (const auto& mixer : mixers_) total += mixer.prefill_time(batch, gpu);
    return total;
  }
  Seconds lower_bound;
  for (const PrefillChunk& chunk : batch.prefills) {
    lower_bound =
        std::max(lower_bound, min_time(prefill_.shape, static_cast<double>(chunk.new_tokens),
                                       static_cast<double>(chunk.context_tokens), gpu));
  }
  const Seconds one = std::max(lower_bound, measured_prefill(*prefill_.times, operators_.front(),
                                                             batch, operators_.front().prefill));
  return in_own_formats(one * layers_, tokens, gpu);
}

Seconds TimedBlock::time(const StepBatch& batch, const StepCounts& counts, const Gpu& gpu) const {
  if (counts.tokens == 0) return {};
  if (batch.prefills.empty()) return decode_time(batch, counts.tokens, gpu);
  if (batch.decode_sequences == 0) return prefill_time(batch, counts.tokens, gpu);
  const std::int64_t decoding = counts.of(Phase::decode);
  const std::int64_t computing = counts.of(Phase::prefill);
  const Seconds decode = decode_time(batch, decoding, gpu);
  const Seconds prefill = prefill_time(batch, computing, gpu);
  const Seconds shared =
      parts_time(decoding, gpu) + parts_time(computing, gpu) - parts_time(counts.tokens, gpu);
  return std::max({decode, prefill, decode + prefill - shared});
}

std::vector<OperatorEstimate> TimedBlock::explain(const StepBatch& batch, const StepCounts& counts,
                                                  const Gpu& gpu) const {
  std::vector<OperatorEstimate> result;
  if (counts.tokens == 0) return result;
  const auto add = [&](const std::vector<TimedOperator>& parts, std::int64_t tokens) {
    for (const TimedOperator& part : parts) {
      if (tokens > 0) result.push_back(part.explain(tokens, gpu));
    }
  };
  add(parts_, counts.tokens);
  add(decode_parts_, counts.of(Phase::decode));
  add(prefill_parts_, counts.of(Phase::prefill));
  std::optional<CurveAnswer> answer;
  for (const auto& mixer : mixers_) {
    if (!batch.prefills.empty()) result.push_back(mixer.explain_prefill(batch, gpu));
    if (batch.decode_sequences > 0) result.push_back(mixer.explain_decode(batch, gpu));
  }
  if (!batch.prefills.empty() && prefill_.times) {
    answer =
        explain_prefill(*prefill_.times, operators_.front(), batch, operators_.front().prefill);
  }
  if (batch.decode_sequences > 0 && decode_.times) {
    const Size size = decode_size(batch, counts.of(Phase::decode));
    CurveAnswer one = decode_.times->explain(size.x, size.y);
    if (batch.decode_new_tokens > 1) one.provenance = Provenance::extended;
    answer = both_of(answer, one);
  }
  if (answer && !replacing_.empty()) {
    answer->provenance = std::max(answer->provenance, Provenance::extended);
  }
  const Side& named = batch.decode_sequences > 0 && decode_.times ? decode_ : prefill_;
  const std::string source = named.times ? named.times->source() : std::string();
  Seconds sum;
  for (const OperatorEstimate& part : result) sum += part.time;
  const double share = time(batch, counts, gpu) / sum;
  for (OperatorEstimate& part : result) {
    part.time = part.time * share;
    if (!answer) continue;
    part.provenance = answer->provenance;
    part.source = source;
    part.relative_uncertainty = answer->relative_uncertainty;
  }
  return result;
}

bool has_block_times(const BlockShapes& shapes, const Gpu& gpu, std::string_view engine) {
  return block_times(gpu, shapes.decode, engine).has_value() ||
         block_times(gpu, shapes.prefill, engine).has_value();
}

}  // namespace roofcast
