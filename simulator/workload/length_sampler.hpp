// Draws token counts from a length distribution.
#pragma once

#include <boost/random/normal_distribution.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/random.hpp"
#include "simulator/workload/length_distribution.hpp"
#include "simulator/workload/length_table.hpp"

namespace roofcast {

/// Column of a length table.
enum class LengthSide { input, output };

class LengthSampler {
 public:
  /// Draws from stream `stream` of run `seed`. `tables` must contain the file of an empirical
  /// distribution and outlive the sampler; throws Error if the file is missing.
  LengthSampler(const LengthDistribution& lengths, std::uint64_t seed, std::string_view stream,
                const std::vector<LengthTable>& tables = {}, LengthSide side = LengthSide::input);

  /// Returns a length of at least one.
  std::int64_t draw();

  /// The row used by the last draw of an empirical distribution.
  const LengthRow& row() const { return table_->rows[row_]; }

  /// Number of draws so far that were clamped to the distribution's bounds.
  std::int64_t clamped() const { return clamped_; }
  const LengthDistribution& distribution() const { return lengths_; }

 private:
  std::int64_t clamp(double tokens);
  std::int64_t draw_row();

  LengthDistribution lengths_;
  RandomStream random_;
  boost::random::normal_distribution<double> standard_;
  LengthSide side_ = LengthSide::input;
  const LengthTable* table_ = nullptr;
  std::vector<std::int64_t> cumulative_;  // cumulative counts of the table's rows
  std::size_t row_ = 0;
  std::int64_t clamped_ = 0;
};

/// Adds a note on how many draws were clamped, if any; `what` is "input", "turn".
void note_clamped(const LengthSampler& sampler, std::string_view what,
                  std::vector<std::string>& notes);

/// Prompt and output lengths of one workload, from streams "input_lengths" and "output_lengths". If
/// both are empirical and name the same file of pairs, each request takes both lengths from one
/// row, which preserves their correlation.
class LengthPairSampler {
 public:
  LengthPairSampler(const LengthDistribution& input, const LengthDistribution& output,
                    std::uint64_t seed, const std::vector<LengthTable>& tables);

  struct Pair {
    std::int64_t input = 0;
    std::int64_t output = 0;
  };
  Pair draw();

  void add_notes(std::vector<std::string>& notes) const;

 private:
  LengthSampler inputs_;
  LengthSampler outputs_;
  bool joint_ = false;
};

}  // namespace roofcast
