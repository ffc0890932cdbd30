// KvBlocks counts blocks and names only a few; these tests run it side by side with a pool that
// tracks every block by id, a plain transcription of vLLM's rules (vllm/v1/core/block_pool.py).
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/random/uniform_int_distribution.hpp>
#include <deque>
#include <map>
#include <optional>

#include "simulator/engine/kv_blocks.hpp"
#include "simulator/random.hpp"
#include "tests/simulator/support.hpp"
#include "tests/support/trials.hpp"

namespace roofcast::test {
namespace {

/// Blocks by id: their holders, their keys, and the queue of free ones.
class BlockPool {
 public:
  struct Block {
    std::optional<BlockKey> key{};
    std::int64_t holders = 0;
  };
  using Held = std::vector<std::size_t>;

  explicit BlockPool(std::int64_t usable) : blocks_(static_cast<std::size_t>(usable)) {
    for (std::size_t id = 0; id < blocks_.size(); ++id) free_.push_back(id);
  }

  std::int64_t free() const { return std::ssize(free_); }

  KvBlocks::Hit find(std::span<const BlockKey> keys) const {
    KvBlocks::Hit hit;
    for (const BlockKey key : keys) {
      const auto found = cached_.find(key);
      if (found == cached_.end()) break;
      ++hit.blocks;
      if (blocks_[found->second.front()].holders == 0) ++hit.free;
    }
    return hit;
  }

  void touch(Held& held, std::span<const BlockKey> keys) {
    for (const BlockKey key : keys) {
      const std::size_t id = cached_.at(key).front();
      if (blocks_[id].holders++ == 0) free_.erase(std::find(free_.begin(), free_.end(), id));
      held.push_back(id);
    }
  }

  void take(Held& held, std::int64_t count) {
    for (; count > 0; --count) {
      const std::size_t id = free_.front();
      free_.pop_front();
      forget(id);
      blocks_[id].holders = 1;
      held.push_back(id);
    }
  }

  void name(const Held& held, std::span<const BlockKey> keys) {
    for (std::size_t i = 0; i < keys.size(); ++i) {
      Block& block = blocks_[held[i]];
      if (block.key) continue;
      block.key = keys[i];
      cached_[keys[i]].push_back(held[i]);
    }
  }

  void release(Held& held) {
    for (auto id = held.rbegin(); id != held.rend(); ++id) {
      if (--blocks_[*id].holders == 0) free_.push_back(*id);
    }
    held.clear();
  }

 private:
  void forget(std::size_t id) {
    Block& block = blocks_[id];
    if (!block.key) return;
    std::vector<std::size_t>& same = cached_[*block.key];
    same.erase(std::find(same.begin(), same.end(), id));
    if (same.empty()) cached_.erase(*block.key);
    block.key.reset();
  }

  std::vector<Block> blocks_;
  std::deque<std::size_t> free_;
  std::map<BlockKey, std::vector<std::size_t>> cached_;  // in the order they were named
};

/// One sequence in both pools.
struct Sequence {
  std::vector<BlockKey> keys{};
  std::int64_t tokens = 0;  // computed
  KvHolding holding{};
  BlockPool::Held held{};
};

constexpr std::int64_t kBlock = 4;

/// What pools and prompts are like.
struct Trial {
  std::int64_t fewest_blocks = 3;
  std::int64_t most_blocks = 24;
  std::uint64_t contents = 3;
  std::int64_t longest = 12;  // tokens of a prompt's first part; the second has up to twice as many
  unsigned key_shift = 0;     // low bits of keys that are zero
};

class SideBySide {
 public:
  explicit SideBySide(std::uint64_t seed, const Trial& trial = {})
      : trial_(trial),
        random_(random_stream(seed, "operations")),
        usable_(draw(trial.fewest_blocks, trial.most_blocks)),
        blocks_(uniform_layout(kBlock), usable_ + 1, 1000),
        pool_(usable_) {}

  void run(int operations) {
    for (int i = 0; i < operations; ++i) {
      const std::int64_t kind = draw(0, 9);
      if (kind < 4 || sequences_.empty()) {
        ASSERT_NO_FATAL_FAILURE(begin());
      } else if (kind < 8) {
        ASSERT_NO_FATAL_FAILURE(go_on(sequences_[any()], draw(1, 10)));
      } else {
        end(any());
      }
      ASSERT_EQ(blocks_.free(), pool_.free());
      ASSERT_EQ(blocks_.used() + blocks_.free(), usable_);
    }
  }

  std::int64_t hits() const { return hits_; }
  std::int64_t refusals() const { return refusals_; }

 private:
  std::int64_t draw(std::int64_t low, std::int64_t high) {
    return boost::random::uniform_int_distribution<std::int64_t>(low, high)(random_);
  }
  std::size_t any() { return static_cast<std::size_t>(draw(0, std::ssize(sequences_) - 1)); }

  /// Few contents, so that prompts share beginnings often, and repeat each other whole.
  std::vector<BlockKey> random_keys() {
    const auto last = static_cast<std::int64_t>(trial_.contents) - 1;
    const auto content = [&] { return static_cast<std::uint64_t>(draw(0, last)); };
    const std::vector<ContentSpan> spans = {{content(), draw(0, trial_.longest)},
                                            {content(), draw(0, 2 * trial_.longest)}};
    std::vector<BlockKey> keys = block_keys(spans, kBlock, -1);
    for (BlockKey& key : keys) key <<= trial_.key_shift;
    return keys;
  }

  void begin() {
    Sequence sequence{.keys = random_keys()};
    const auto max = static_cast<std::size_t>(draw(0, std::ssize(sequence.keys)));
    const KvBlocks::Hit hit = blocks_.find(std::span(sequence.keys).first(max));
    const KvBlocks::Hit expected = pool_.find(std::span(sequence.keys).first(max));
    ASSERT_EQ(hit.blocks, expected.blocks);
    ASSERT_EQ(hit.free, expected.free);
    const std::int64_t first = draw(1, trial_.longest + 8);
    const std::int64_t more = (first + kBlock - 1) / kBlock;
    if (hit.free + more > blocks_.free()) {
      ++refusals_;
      return;
    }
    const auto cached = std::span(sequence.keys).first(static_cast<std::size_t>(hit.blocks));
    blocks_.take_cached(sequence.holding, cached);
    pool_.touch(sequence.held, cached);
    sequence.tokens = hit.blocks * kBlock;
    hits_ += hit.blocks;
    sequences_.push_back(sequence);
    go_on(sequences_.back(), first);
  }

  void go_on(Sequence& sequence, std::int64_t tokens) {
    const std::int64_t total = sequence.tokens + tokens;
    const std::int64_t more = (total + kBlock - 1) / kBlock - std::ssize(sequence.held);
    const bool fits = more <= pool_.free();
    ASSERT_EQ(blocks_.grow(sequence.holding, total, tokens), fits);
    if (!fits) {
      ++refusals_;
      return;
    }
    pool_.take(sequence.held, more);
    sequence.tokens = total;
    const std::int64_t full = std::min(total / kBlock, std::ssize(sequence.keys));
    const auto named = std::span(sequence.keys).first(static_cast<std::size_t>(full));
    blocks_.name(sequence.holding, named);
    pool_.name(sequence.held, named);
  }

  void end(std::size_t index) {
    blocks_.release(sequences_[index].holding);
    pool_.release(sequences_[index].held);
    sequences_.erase(sequences_.begin() + static_cast<std::ptrdiff_t>(index));
  }

  Trial trial_;
  RandomStream random_;
  std::int64_t usable_;
  KvBlocks blocks_;
  BlockPool pool_;
  std::vector<Sequence> sequences_;
  std::int64_t hits_ = 0;
  std::int64_t refusals_ = 0;
};

TEST(KvBlocks, AnswersAsAPoolOfSingleBlocks) {
  std::int64_t hits = 0, refusals = 0;
  for (std::uint64_t seed = 0; seed < trials(3000U); ++seed) {
    SCOPED_TRACE(seed);
    SideBySide both(seed);
    ASSERT_NO_FATAL_FAILURE(both.run(120));
    hits += both.hits();
    refusals += both.refusals();
  }
  // The sequences exercise what they are meant to.
  EXPECT_GT(hits, often(10'000));
  EXPECT_GT(refusals, often(10'000));
}

// Keys whose low 32 bits are zero share a bucket of the table.
TEST(KvBlocks, KeysOfOneBucketAreToldApart) {
  std::int64_t hits = 0;
  for (std::uint64_t seed = 0; seed < trials(600U); ++seed) {
    SCOPED_TRACE(seed);
    SideBySide both(seed, {.key_shift = 32});
    ASSERT_NO_FATAL_FAILURE(both.run(120));
    hits += both.hits();
  }
  EXPECT_GT(hits, often(2'000));
}

// Thousands of keys, for which the table grows.
TEST(KvBlocks, ManyKeysAreFoundAsFewAre) {
  std::int64_t hits = 0, refusals = 0;
  for (std::uint64_t seed = 0; seed < trials(30U); ++seed) {
    SCOPED_TRACE(seed);
    SideBySide both(seed,
                    {.fewest_blocks = 2'000, .most_blocks = 4'000, .contents = 60, .longest = 400});
    ASSERT_NO_FATAL_FAILURE(both.run(600));
    hits += both.hits();
    refusals += both.refusals();
  }
  EXPECT_GT(hits, often(10'000));
  EXPECT_GT(refusals, often(100));
}

}  // namespace
}  // namespace roofcast::test
