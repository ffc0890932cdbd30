// K and V in contiguous ranges, as engines kept them before PagedAttention: a request reserves room
// for its longest possible sequence when it is admitted, and no other can use what it leaves empty
// (Kwon et al., SOSP 2023, section 3.1).
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "model/engines/engine.hpp"

namespace roofcast {

/// Tokens for which a request reserves room: by Engine::kv_reservation, plus drafts that it may
/// have to verify, up to max_model_len. 0 if K and V are paged.
std::int64_t reserved_tokens(const Engine& engine, std::int64_t input_tokens,
                             std::int64_t output_tokens);

/// The free ranges of a row of equal slots.
class FreeRanges {
 public:
  /// All of `size` slots are free.
  explicit FreeRanges(std::int64_t size);

  /// Takes the first `slots` of the smallest range that holds them, the first of equal ones (best
  /// fit; Knuth, The Art of Computer Programming, volume 1, section 2.5). Returns where they begin;
  /// nullopt if no range is large enough.
  std::optional<std::int64_t> take(std::int64_t slots);

  /// Whether take() would succeed.
  bool fits(std::int64_t slots) const;

  /// Returns what take() gave; joined with free neighbours.
  void give_back(std::int64_t first, std::int64_t slots);

  /// Free slots in ranges shorter than `slots`.
  std::int64_t in_shorter(std::int64_t slots) const;

 private:
  std::map<std::int64_t, std::int64_t> ranges_;  // length by first slot; no two touch
};

}  // namespace roofcast
