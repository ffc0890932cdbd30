// Binds operators between matrices and attention, whose bytes are nearly all activations: these
// stay in place and are as warm as their size allows. Only tables and caches are cold.
#include <memory>
#include <utility>

#include "calibrate/bind.hpp"
#include "calibrate/random_order.hpp"

namespace roofcast {

using kernels::Element;

namespace {

constexpr int kPageSize = 16;
constexpr std::uint64_t kSeed = 99;

// Any point of the unit circle, so that repeated in-place rotation keeps the values' magnitude.
constexpr float kCosine = 0.8F;
constexpr float kSine = 0.6F;
constexpr std::int64_t kPositions = 4096;  // rows of the cosine table

// Few copies suffice for scattered accesses: each has its own random rows.
constexpr int kMaxLists = 64;

enum Slot { kOutput, kResidual, kWorkspace, kSecond, kThird, kFourth };

std::byte* behind(void* data, double bytes) {
  return static_cast<std::byte*>(data) + static_cast<std::size_t>(bytes);
}

/// Launches `call` with its output at each place in turn.
template <class Call>
BoundCase bound(kernels::Backend& backend, const Call& call, const ColdCopies& outputs) {
  return {.work = {.copies = outputs.count,
                   .launch =
                       [&backend, call, outputs](int copy) {
                         Call now = call;
                         now.output = outputs.at(copy);
                         backend.launch(now);
                       }},
          .owned = {}};
}

template <class Call>
BoundCase bound(kernels::Backend& backend, const Call& call) {
  return {.work = {.copies = 1, .launch = [&backend, call](int) { backend.launch(call); }},
          .owned = {}};
}

BoundCase bind_norm(Operands& operands, const CalibrationCase& c) {
  const TokenSizes& s = c.sizes;
  const double row = bytes_of(s.element, static_cast<double>(s.hidden));
  const double rows = row * static_cast<double>(s.tokens);
  void* first = operands.warm(s.element, 2 * rows + row);
  kernels::RmsNorm norm{.element = s.element,
                        .rows = s.tokens,
                        .hidden = static_cast<int>(s.hidden),
                        .input = first,
                        .weight = behind(first, 2 * rows)};
  if (s.residual) {
    norm.residual = behind(first, rows);
    norm.residual_out = operands.scratch(kResidual, rows);
  }
  return bound(operands.backend(), norm, operands.written(kOutput, rows));
}

BoundCase bind_rope(Operands& operands, const CalibrationCase& c) {
  const TokenSizes& s = c.sizes;
  kernels::Backend& backend = operands.backend();
  const std::int64_t stride = (s.query_heads + 2 * s.kv_heads) * s.head_dim;
  void* rows =
      operands.warm(s.element, bytes_of(s.element, static_cast<double>(s.tokens * stride)));
  std::vector<std::int32_t> positions(static_cast<std::size_t>(s.tokens));
  for (std::size_t i = 0; i < positions.size(); ++i) {
    positions[i] = static_cast<std::int32_t>(i % kPositions);
  }
  const auto table = static_cast<std::size_t>(kPositions * s.head_dim / 2);
  BoundCase result;
  result.owned.push_back(uploaded(backend, positions));
  result.owned.push_back(uploaded(backend, std::vector<float>(table, kCosine)));
  result.owned.push_back(uploaded(backend, std::vector<float>(table, kSine)));
  const kernels::Rope rope{
      .element = s.element,
      .tokens = s.tokens,
      .query_heads = static_cast<int>(s.query_heads),
      .kv_heads = static_cast<int>(s.kv_heads),
      .head_dim = static_cast<int>(s.head_dim),
      .stride = stride,
      .query = rows,
      .key = behind(rows, bytes_of(s.element, static_cast<double>(s.query_heads * s.head_dim))),
      .position = result.owned[0].as<std::int32_t>(),
      .cosine = result.owned[1].as<float>(),
      .sine = result.owned[2].as<float>()};
  result.work.launch = [&backend, rope](int) { backend.launch(rope); };
  return result;
}

/// Each copy writes to different pages, in random order.
BoundCase bind_kv_write(Operands& operands, const CalibrationCase& c) {
  const TokenSizes& s = c.sizes;
  kernels::Backend& backend = operands.backend();
  const std::int64_t width = s.kv_heads * s.head_dim;
  const double written = 2 * bytes_of(s.cache, static_cast<double>(s.tokens * width));
  const int copies = std::min(kMaxLists, operands.copies_for(written));
  const std::int64_t pages = (s.tokens + kPageSize - 1) / kPageSize;
  const double pool = bytes_of(s.cache, static_cast<double>(pages * copies * kPageSize * width));
  const ColdCopies halves = operands.cold(s.cache, pool, 2);
  void* rows =
      operands.warm(s.element, 2 * bytes_of(s.element, static_cast<double>(s.tokens * width)));
  const kernels::KvWrite write{
      .element = s.element,
      .tokens = s.tokens,
      .stride = 2 * width,
      .key = rows,
      .value = behind(rows, bytes_of(s.element, static_cast<double>(width))),
      .cache = {.element = s.cache,
                .page_size = kPageSize,
                .kv_heads = static_cast<int>(s.kv_heads),
                .head_dim = static_cast<int>(s.head_dim),
                .keys = halves.at(0),
                .values = halves.at(1)}};
  RandomStream random(kSeed);
  const std::vector<std::int32_t> order = random_order(pages * copies, random);
  auto slots = std::make_shared<std::vector<kernels::Memory>>();
  for (int copy = 0; copy < copies; ++copy) {
    std::vector<std::int64_t> slot;
    for (std::int64_t token = 0; token < s.tokens; ++token) {
      const auto page = static_cast<std::size_t>(pages * copy + token / kPageSize);
      slot.push_back(std::int64_t{order[page]} * kPageSize + token % kPageSize);
    }
    slots->push_back(uploaded(backend, slot));
  }
  return {.work = {.copies = copies,
                   .launch =
                       [&backend, write, slots](int copy) {
                         kernels::KvWrite now = write;
                         now.slot = (*slots)[static_cast<std::size_t>(copy)].as<std::int64_t>();
                         backend.launch(now);
                       }},
          .owned = {},
          .cold_bytes = written};
}

/// Each copy looks up different tokens.
BoundCase bind_embedding(Operands& operands, const CalibrationCase& c) {
  const TokenSizes& s = c.sizes;
  kernels::Backend& backend = operands.backend();
  const double rows = bytes_of(s.element, static_cast<double>(s.tokens * s.hidden));
  const double table = bytes_of(s.element, static_cast<double>(s.vocabulary * s.hidden));
  const int copies = std::min(kMaxLists, operands.copies_for(rows));
  const kernels::Embedding embedding{.element = s.element,
                                     .tokens = s.tokens,
                                     .hidden = static_cast<int>(s.hidden),
                                     .vocabulary = static_cast<int>(s.vocabulary),
                                     .table = operands.cold(s.element, table, 1).at(0),
                                     .output = operands.scratch(kOutput, rows)};
  RandomStream random(kSeed);
  auto lists = std::make_shared<std::vector<kernels::Memory>>();
  for (int copy = 0; copy < copies; ++copy) {
    std::vector<std::int32_t> tokens;
    for (std::int64_t i = 0; i < s.tokens; ++i) {
      tokens.push_back(static_cast<std::int32_t>(random.below(s.vocabulary)));
    }
    lists->push_back(uploaded(backend, tokens));
  }
  return {.work = {.copies = copies,
                   .launch =
                       [&backend, embedding, lists](int copy) {
                         kernels::Embedding now = embedding;
                         now.token = (*lists)[static_cast<std::size_t>(copy)].as<std::int32_t>();
                         backend.launch(now);
                       }},
          .owned = {},
          .cold_bytes = rows};
}

BoundCase bind_activation(Operands& operands, const CalibrationCase& c) {
  const TokenSizes& s = c.sizes;
  const double rows = bytes_of(s.element, static_cast<double>(s.tokens * s.hidden));
  return bound(operands.backend(),
               kernels::Activation{.kind = s.gated ? kernels::ActivationKind::silu_mul
                                                   : kernels::ActivationKind::gelu,
                                   .element = s.element,
                                   .rows = s.tokens,
                                   .width = static_cast<int>(s.hidden),
                                   .input = operands.warm(s.element, (s.gated ? 2 : 1) * rows)},
               operands.written(kOutput, rows));
}

/// Greedy sampling.
BoundCase bind_sampling(Operands& operands, const CalibrationCase& c) {
  const TokenSizes& s = c.sizes;
  const double logits = bytes_of(s.element, static_cast<double>(s.tokens * s.vocabulary));
  kernels::Sampling sampling{.rows = s.tokens,
                             .vocabulary = static_cast<int>(s.vocabulary),
                             .element = s.element,
                             .logits = operands.warm(s.element, logits)};
  sampling.token = static_cast<std::int32_t*>(
      operands.scratch(kOutput, static_cast<double>(s.tokens) * sizeof(std::int32_t)));
  sampling.workspace =
      operands.scratch(kWorkspace, static_cast<double>(kernels::workspace_bytes(sampling)));
  return bound(operands.backend(), sampling);
}

BoundCase bind_routing(Operands& operands, const CalibrationCase& c) {
  const TokenSizes& s = c.sizes;
  const auto pairs = static_cast<double>(s.tokens * s.experts_per_token);
  const double logits = bytes_of(s.element, static_cast<double>(s.tokens * s.experts));
  const auto integers = [&](int slot, double count) {
    return static_cast<std::int32_t*>(operands.scratch(slot, count * sizeof(std::int32_t)));
  };
  kernels::Routing routing{.tokens = s.tokens,
                           .experts = static_cast<int>(s.experts),
                           .top_k = static_cast<int>(s.experts_per_token),
                           .element = s.element,
                           .logits = operands.warm(s.element, logits),
                           .first_row = integers(kOutput, static_cast<double>(s.experts + 1)),
                           .source = integers(kSecond, pairs),
                           .place = integers(kThird, pairs)};
  routing.weight = static_cast<float*>(operands.scratch(kFourth, pairs * sizeof(float)));
  routing.workspace =
      operands.scratch(kWorkspace, static_cast<double>(kernels::workspace_bytes(routing)));
  return bound(operands.backend(), routing);
}

}  // namespace

BoundCase bind_token_operator(Operands& operands, const CalibrationCase& c) {
  switch (c.kind) {
    case CaseKind::rope:
      return bind_rope(operands, c);
    case CaseKind::kv_write:
      return bind_kv_write(operands, c);
    case CaseKind::embedding:
      return bind_embedding(operands, c);
    case CaseKind::activation:
      return bind_activation(operands, c);
    case CaseKind::sampling:
      return bind_sampling(operands, c);
    case CaseKind::routing:
      return bind_routing(operands, c);
    default:
      return bind_norm(operands, c);
  }
}

/// x of a copy is bytes read plus written; the two halves are separate in a pool that no cache
/// holds.
BoundCase bind_ceiling(Operands& operands, const CalibrationCase& c) {
  kernels::Backend& backend = operands.backend();
  if (c.kind == CaseKind::nothing) {
    return {.work = {.copies = 1, .launch = [&backend](int) { backend.launch_nothing(); }},
            .owned = {}};
  }
  const double half = c.x / 2;
  const ColdCopies ends = operands.cold(Element::bf16, half, 2);
  return {.work = {.copies = 1,
                   .launch =
                       [&backend, ends, half](int) {
                         backend.launch_copy(ends.at(1), ends.at(0),
                                             static_cast<std::size_t>(half));
                       }},
          .owned = {},
          .cold_bytes = half};
}

}  // namespace roofcast
