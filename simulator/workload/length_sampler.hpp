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

/// Which of a table's two columns.
enum class LengthSide { input, output };

class LengthSampler {
 public:
  /// Draws from stream `stream` of run `seed`. `tables` must hold the file of an empirical
  /// distribution and outlive the sampler; throws Error when it does not.
  LengthSampler(const LengthDistribution& lengths, std::uint64_t seed, std::string_view stream,
                const std::vector<LengthTable>& tables = {}, LengthSide side = LengthSide::input);

  /// At least one.
  std::int64_t draw();

  /// The row that the last draw of an empirical distribution took.
  const LengthRow& row() const { return table_->rows[row_]; }

  /// Draws so far that lay outside the distribution's bounds and were moved to the nearer end.
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
  std::vector<std::int64_t> cumulative_;  // counts of the table's rows, summed
  std::size_t row_ = 0;
  std::int64_t clamped_ = 0;
};

/// Says in `notes` how many draws were moved to a bound, if any were; `what` is "input", "turn".
void note_clamped(const LengthSampler& sampler, std::string_view what,
                  std::vector<std::string>& notes);

/// Prompts' and outputs' lengths of one workload, from streams "input_lengths" and
/// "output_lengths". When both are empirical and name the same file of pairs, a request takes both
/// lengths of one row, so that they stay as correlated as they were.
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
