#include "calibrate/tables/mixed_attention.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

namespace roofcast {

namespace {

// Fewer sequences use few multiprocessors and run in parallel with the chunk, not after it.
constexpr std::int64_t kMinSequences = 16;

using Size = std::pair<std::int64_t, std::int64_t>;
using Times = std::map<Size, Seconds>;

const Seconds* find(const Times& times, Size size) {
  const auto found = times.find(size);
  return found == times.end() ? nullptr : &found->second;
}

/// Times of chunks alone, by (chunk, cached).
Times chunks_alone(std::span<const AttentionCall> calls) {
  Times times;
  for (const AttentionCall& call : calls) {
    if (call.chunk > 0 && call.sequences == 0) times[{call.chunk, call.cached}] = call.time;
  }
  return times;
}

/// Times by (sequences, attended), minus the shortest chunk alone.
Times beside_shortest(std::span<const AttentionCall> calls, const Times& alone) {
  std::int64_t shortest = std::numeric_limits<std::int64_t>::max();
  for (const auto& [size, time] : alone) shortest = std::min(shortest, size.first);
  Times times;
  const Seconds* chunk = find(alone, {shortest, 0});
  if (chunk == nullptr) return times;
  for (const AttentionCall& call : calls) {
    const bool beside = call.chunk == shortest && call.cached == 0 && call.sequences > 0;
    if (!beside || call.attended == 0 || call.time <= *chunk) continue;
    times[{call.sequences, call.attended}] = call.time - *chunk;
  }
  return times;
}

Seconds fit_empty_tile(std::span<const AttentionCall> calls, const Times& alone,
                       const Times& beside, std::int64_t query_heads) {
  double products = 0;
  double squares = 0;
  for (const AttentionCall& call : calls) {
    if (call.sequences < kMinSequences) continue;
    const Seconds* chunk = find(alone, {call.chunk, call.cached});
    const Seconds* decode = find(beside, {call.sequences, call.attended});
    const std::int64_t empty = (call.chunk + kQueryTile - 1) / kQueryTile - 1;
    if (chunk == nullptr || decode == nullptr || empty <= 0) continue;
    const double tiles = static_cast<double>(call.sequences * empty * query_heads);
    const double beyond = (call.time - *chunk - *decode) / call.time;
    const double share = tiles / call.time.value;
    products += share * beyond;
    squares += share * share;
  }
  return Seconds{squares > 0 ? std::max(0.0, products / squares) : 0.0};
}

Seconds time_of_token(const Times& beside) {
  std::vector<std::pair<std::int64_t, Seconds>> single;
  for (const auto& [size, time] : beside) {
    if (size.first == 1) single.emplace_back(size.second, time);
  }
  if (single.size() < 2) return {};
  const auto& [shorter, less] = single[single.size() - 2];
  const auto& [longer, more] = single.back();
  return std::max(Seconds{}, (more - less) / static_cast<double>(longer - shorter));
}

}  // namespace

MixedAttention mixed_attention(std::span<const AttentionCall> calls, std::int64_t query_heads) {
  const Times alone = chunks_alone(calls);
  const Times beside = beside_shortest(calls, alone);
  MixedAttention mixed{.empty_tile = fit_empty_tile(calls, alone, beside, query_heads),
                       .tail_token = time_of_token(beside)};
  for (const auto& [size, time] : beside) {
    mixed.beside.push_back({.x = static_cast<double>(size.first),
                            .y = static_cast<double>(size.second),
                            .time = time});
  }
  return mixed;
}

}  // namespace roofcast
