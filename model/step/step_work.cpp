#include "model/step/step_work.hpp"

#include <algorithm>
#include <cassert>
#include <optional>
#include <variant>

#include "base/ceil_divide.hpp"
#include "model/curves/operator_shape.hpp"
#include "model/step/deployment_operators.hpp"

namespace roofcast {

namespace {

/// base^exponent by squaring: only multiplications, so every machine gets the same bits.
double power(double base, std::int64_t exponent) {
  double result = 1;
  while (exponent > 0) {
    if (exponent % 2 == 1) result *= base;
    base *= base;
    exponent /= 2;
  }
  return result;
}

/// Share of the experts that none of n tokens chooses.
double missed_share(const LinearOperator& op, std::int64_t n) {
  if (op.pick_classes.empty()) return power(1.0 - op.pick_probability, n);
  double sum = 0;
  for (const double probability : op.pick_classes) sum += power(1.0 - probability, n);
  return sum / to_double(std::ssize(op.pick_classes));
}

/// Expected number of this rank's experts that at least one of n tokens chooses, each token
/// choosing independently: of E even ones E * (1 - (1 - k/E)^n).
double expected_experts(const LinearOperator& op, std::int64_t n) {
  return to_double(op.experts) * (1.0 - missed_share(op, n * op.group_tokens));
}

/// Sum over n consecutive positions from 0 of (position mod period) + 1.
double sawtooth_sum(std::int64_t n, std::int64_t period) {
  const double whole = to_double(n / period);
  const double rest = to_double(n % period);
  const double tooth = to_double(period);
  return whole * tooth * (tooth + 1) / 2 + rest * (rest + 1) / 2;
}

/// Cached entries, including the new ones, that a chunk must read at least once.
double entries_read(const AttentionSpan& span, std::int64_t new_tokens, std::int64_t context) {
  const std::int64_t all = new_tokens + context;
  switch (span.kind) {
    case AttentionSpan::Kind::full:
    case AttentionSpan::Kind::both:
      return to_double(all);
    case AttentionSpan::Kind::sliding:
      return to_double(std::min(all, new_tokens + span.tokens - 1));
    case AttentionSpan::Kind::sparse:
      return std::min(to_double(all), to_double(new_tokens) * to_double(span.tokens));
    case AttentionSpan::Kind::chunked:
      return to_double(new_tokens + context % span.tokens);
  }
  return to_double(all);
}

const AttentionSpan* span_of(const Layer& layer) {
  if (const auto* a = std::get_if<Attention>(&layer.mixer)) return &a->span;
  if (const auto* a = std::get_if<LatentAttention>(&layer.mixer)) return &a->span;
  return nullptr;
}

bool has_indexer(const Layer& layer) {
  if (const auto* a = std::get_if<Attention>(&layer.mixer)) return a->index_heads > 0;
  if (const auto* a = std::get_if<LatentAttention>(&layer.mixer)) return a->index_heads > 0;
  return false;
}

}  // namespace

std::vector<AttentionSpan> attention_spans(const Transformer& model) {
  std::vector<AttentionSpan> spans;
  bool indexed = false;
  for (const Layer& layer : model.layers) {
    indexed = indexed || has_indexer(layer);
    const AttentionSpan* span = span_of(layer);
    // Most layers attend as the one before.
    if (span == nullptr || (!spans.empty() && *span == spans.back())) continue;
    if (std::find(spans.begin(), spans.end(), *span) == spans.end()) spans.push_back(*span);
  }
  const AttentionSpan full{};
  const auto found = std::find(spans.begin(), spans.end(), full);
  if (found != spans.end()) {
    std::rotate(spans.begin(), found, found + 1);
  } else if (indexed) {
    spans.insert(spans.begin(), full);
  }
  return spans;
}

double attended_pairs(const AttentionSpan& span, std::int64_t new_tokens, std::int64_t context) {
  const double n = to_double(new_tokens);
  switch (span.kind) {
    case AttentionSpan::Kind::full:
      return n * to_double(context) + n * (n + 1) / 2;
    case AttentionSpan::Kind::sliding:
    case AttentionSpan::Kind::sparse:
      return windowed_pairs(n, to_double(context), to_double(span.tokens));
    case AttentionSpan::Kind::chunked:
      return sawtooth_sum(context + new_tokens, span.tokens) - sawtooth_sum(context, span.tokens);
    case AttentionSpan::Kind::both:
      return n * (to_double(context) + n);
  }
  return 0;
}

StepBatch decode_batch(const Transformer& model, std::int64_t sequences, std::int64_t context) {
  return speculative_batch(model, sequences, context, 0);
}

StepBatch speculative_batch(const Transformer& model, std::int64_t sequences, std::int64_t context,
                            std::int64_t drafts) {
  StepBatch batch;
  batch.decode_sequences = sequences;
  batch.decode_new_tokens = 1 + drafts;
  const auto kept = std::min(sequences, static_cast<std::int64_t>(kLongestKept));
  std::fill_n(batch.decode_longest.begin(), kept, context + drafts + 1);
  for (const AttentionSpan& span : attention_spans(model)) {
    batch.decode_attended.push_back(sequences * attended_tokens(span, context + drafts));
  }
  return batch;
}

StepBatch prefill_batch(std::int64_t sequences, std::int64_t tokens) {
  StepBatch batch;
  batch.prefills.assign(static_cast<std::size_t>(sequences), {.new_tokens = tokens});
  return batch;
}

StepCounts step_counts(const Engine& engine, const StepBatch& batch) {
  const std::int64_t decoding = batch.decode_sequences * batch.decode_new_tokens;
  StepCounts counts{.tokens = decoding, .rows = decoding};
  if (batch.prefills.empty()) {
    if (engine.cuda_graphs && decoding > 0) {
      counts.tokens = padded_batch(engine, batch.decode_sequences, batch.decode_new_tokens);
    }
    counts.decoding = counts.tokens;
    return counts;
  }
  counts.decoding = decoding;
  for (const PrefillChunk& chunk : batch.prefills) {
    counts.tokens += chunk.new_tokens;
    counts.rows += chunk.emits_token ? 1 : 0;
  }
  const std::vector<std::int64_t>& sizes = engine.prompt_graph_sizes;
  const auto size = std::ranges::lower_bound(sizes, counts.tokens);
  if (size != sizes.end()) counts.tokens = *size;
  return counts;
}

RankBatch batch_of_rank(const Deployment& deployment, const StepBatch& batch) {
  const std::int64_t ranks = deployment.parallel.context;
  if (ranks == 1 || batch.prefills.empty()) return {.batch = batch};
  const std::int64_t parts = 2 * ranks;
  const bool whole_steps = traits_of(deployment.engine.scheduler).divides_prompts_alone;
  const auto is_short = [&](const PrefillChunk& chunk) { return chunk.new_tokens < parts; };
  if (whole_steps && std::ranges::any_of(batch.prefills, is_short)) return {.batch = batch};
  RankBatch own{.batch = batch, .prompt_ranks = ranks};
  own.batch.prefills.clear();
  for (const PrefillChunk& chunk : batch.prefills) {
    const std::int64_t part = ceil_divide(chunk.new_tokens, parts);
    const std::int64_t start = std::min((ranks - 1) * part, chunk.new_tokens - part);
    const std::int64_t late = std::min(part, chunk.new_tokens - part - start);
    const std::int64_t context = chunk.context_tokens + start;
    own.batch.prefills.push_back({.new_tokens = part,
                                  .context_tokens = context,
                                  .emits_token = chunk.emits_token && late == 0});
    if (late == 0) continue;
    own.batch.prefills.push_back(
        {.new_tokens = late, .context_tokens = context + part, .emits_token = chunk.emits_token});
  }
  return own;
}

void set_work(const LinearOperator& op, std::int64_t n, Work& work) {
  const double count = to_double(n);
  const double calls = to_double(op.work.calls);
  double stored = op.stored_fixed;
  if (op.experts > 0) stored += expected_experts(op, n) * op.expert_bytes;
  const double activations = op.activation_each * count;
  work.flops = Flops{op.flops_each * count * calls};
  work.stored_bytes = Bytes{stored * calls};
  switch (op.work.family) {
    case OperatorFamily::gemm:
    case OperatorFamily::moe:
      work.bytes = Bytes{(stored + activations) * calls};
      work.scale = count;
      break;
    case OperatorFamily::collective:  // the message, and the part that must cross the link
      work.bytes = Bytes{activations * op.wire_share * calls};
      work.scale = activations;
      break;
    default:
      work.bytes = Bytes{(stored + activations) * calls};
      work.scale = stored + activations;
      break;
  }
}

void set_decode_work(const AttentionOperator& op, const StepBatch& batch, Work& work) {
  assert(op.span_index < batch.decode_attended.size());
  const double layers = to_double(op.decode.calls);
  const double sequences = to_double(batch.decode_sequences);
  const double tokens = sequences * to_double(batch.decode_new_tokens);
  const double entries =
      to_double(batch.decode_attended[op.span_index]) / to_double(op.compression) +
      sequences * to_double(op.local_tokens);
  // Context ranks read as many times fewer entries, each for the queries of all of them.
  const double ranks = to_double(op.context_ranks);
  double stored = entries / ranks * op.entry_bytes * op.decode_reads;
  double flops = entries * to_double(batch.decode_new_tokens) * op.decode_flops;
  if (op.index_flops > 0) {
    const double scanned =
        to_double(batch.decode_attended[op.index_span]) / to_double(op.compression);
    stored += scanned / ranks * op.index_bytes;
    flops += scanned / ranks * to_double(batch.decode_new_tokens) * op.index_flops;
  }
  const double queries = tokens * op.query_bytes * ranks;
  work.flops = Flops{flops * layers};
  work.stored_bytes = Bytes{stored * layers};
  work.bytes = Bytes{(stored + queries) * layers};
  work.scale = std::max(stored + queries, 1.0);
}

void set_prefill_work(const AttentionOperator& op, const StepBatch& batch, Work& work) {
  const double layers = to_double(op.prefill.calls);
  const double compression = to_double(op.compression);
  double tokens = 0;
  double pairs = 0;
  double flops = 0;
  double stored = 0;
  for (const PrefillChunk& chunk : batch.prefills) {
    const double fresh = to_double(chunk.new_tokens);
    const double chunk_pairs =
        attended_pairs(op.span, chunk.new_tokens, chunk.context_tokens) / compression +
        windowed_pairs(fresh, to_double(chunk.context_tokens), to_double(op.local_tokens));
    // Tokens of this chunk are activations; only the earlier cache is in HBM.
    const double cached =
        entries_read(op.span, chunk.new_tokens, chunk.context_tokens) / compression - fresh;
    tokens += fresh;
    pairs += chunk_pairs;
    flops += chunk_pairs * op.prefill_flops;
    stored += std::max(0.0, cached) * op.entry_bytes;
    flops += to_double(chunk.context_tokens) * op.expand_flops;
    if (op.index_flops > 0) {
      const double scanned =
          attended_pairs(AttentionSpan{}, chunk.new_tokens, chunk.context_tokens) / compression;
      flops += scanned * op.index_flops;
      stored += to_double(chunk.context_tokens) / compression * op.index_bytes;
    }
  }
  work.flops = Flops{flops * layers};
  work.stored_bytes = Bytes{stored * layers};
  work.bytes = Bytes{(stored + tokens * (op.query_bytes + op.entry_bytes / compression)) * layers};
  // Kernels spend a time per query row in addition to that per pair, so efficiency depends on the
  // FLOPs per row: twice the mean number attended is the length of a causal prompt with as many.
  work.scale = std::max(1.0, 2.0 * pairs / std::max(tokens, 1.0) * op.size_factor);
}

void set_decode_work(const RecurrentOperator& op, const StepBatch& batch, Work& work) {
  const double calls = to_double(op.decode.calls);
  const double sequences = to_double(batch.decode_sequences);
  const double tokens = sequences * to_double(batch.decode_new_tokens);
  const double stored = sequences * 2 * op.state_bytes;
  work.flops = Flops{tokens * op.flops_each * calls};
  work.stored_bytes = Bytes{stored * calls};
  work.bytes = Bytes{(stored + tokens * op.activation_each) * calls};
  work.scale = std::max(1.0, work.bytes.value / calls);
}

void set_prefill_work(const RecurrentOperator& op, const StepBatch& batch, Work& work) {
  const double calls = to_double(op.prefill.calls);
  double tokens = 0;
  double state_moves = 0;  // a new prompt only writes its state
  for (const PrefillChunk& chunk : batch.prefills) {
    tokens += to_double(chunk.new_tokens);
    state_moves += chunk.context_tokens > 0 ? 2 : 1;
  }
  const double stored = state_moves * op.state_bytes;
  work.flops = Flops{tokens * op.flops_each * calls};
  work.stored_bytes = Bytes{stored * calls};
  work.bytes = Bytes{(stored + tokens * op.activation_each) * calls};
  work.scale = std::max(1.0, work.bytes.value / calls);
}

std::vector<Work> step_work(const Deployment& deployment, const StepBatch& whole) {
  const StepOperators operators = step_operators(deployment);
  const RankBatch own = batch_of_rank(deployment, whole);
  const StepBatch& batch = own.batch;
  StepCounts counts = step_counts(deployment.engine, batch);
  counts.prompt_ranks = own.prompt_ranks;
  std::vector<Work> list;
  const auto add_linear = [&](const LinearOperator& op, std::int64_t n) {
    if (n == 0) return;
    list.push_back(op.work);
    set_work(op, n, list.back());
  };
  const auto add_mixers = [&](const auto& ops) {
    for (const auto& op : ops) {
      if (!batch.prefills.empty()) {
        list.push_back(op.prefill);
        set_prefill_work(op, batch, list.back());
      }
      if (batch.decode_sequences > 0) {
        list.push_back(op.decode);
        set_decode_work(op, batch, list.back());
      }
    }
  };
  for (const LinearOperator& op : operators.per_token) add_linear(op, counts.of(op.phase));
  add_mixers(operators.attention);
  add_mixers(operators.recurrent);
  for (const LinearOperator& op : operators.per_row) add_linear(op, counts.rows);
  return list;
}

}  // namespace roofcast
