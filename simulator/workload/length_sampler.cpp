#include "simulator/workload/length_sampler.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/random/uniform_int_distribution.hpp>
#include <cmath>

#include "base/error.hpp"
#include "base/wording.hpp"

namespace roofcast {
namespace {

using Kind = LengthDistribution::Kind;

const LengthTable& table_of(const LengthDistribution& lengths,
                            const std::vector<LengthTable>& tables) {
  const auto found = std::find_if(tables.begin(), tables.end(), [&](const LengthTable& table) {
    return table.file == lengths.file;
  });
  if (found == tables.end() || found->rows.empty()) {
    throw Error(fmt::format("{}: no lengths were read, expected rows of lengths", lengths.file));
  }
  return *found;
}

}  // namespace

LengthSampler::LengthSampler(const LengthDistribution& lengths, std::uint64_t seed,
                             std::string_view stream, const std::vector<LengthTable>& tables,
                             LengthSide side)
    : lengths_(lengths), random_(random_stream(seed, stream)), side_(side) {
  if (lengths.kind != Kind::empirical) return;
  table_ = &table_of(lengths, tables);
  std::int64_t sum = 0;
  cumulative_.reserve(table_->rows.size());
  for (const LengthRow& row : table_->rows) cumulative_.push_back(sum += row.count);
}

std::int64_t LengthSampler::draw() {
  switch (lengths_.kind) {
    case Kind::fixed:
      break;
    case Kind::uniform: {
      boost::random::uniform_int_distribution<std::int64_t> uniform(std::llround(lengths_.a),
                                                                    std::llround(lengths_.b));
      return uniform(random_);
    }
    case Kind::normal:
      return clamp(lengths_.a + lengths_.b * standard_(random_));
    case Kind::lognormal:
      return clamp(lengths_.a * std::exp(lengths_.b * standard_(random_)));
    case Kind::empirical:
      return draw_row();
  }
  return clamp(lengths_.a);
}

std::int64_t LengthSampler::clamp(double tokens) {
  const double inside =
      std::clamp(tokens, static_cast<double>(lengths_.min), static_cast<double>(lengths_.max));
  if (std::round(tokens) != std::round(inside)) ++clamped_;
  return std::llround(inside);
}

std::int64_t LengthSampler::draw_row() {
  boost::random::uniform_int_distribution<std::int64_t> uniform(1, cumulative_.back());
  const auto found = std::lower_bound(cumulative_.begin(), cumulative_.end(), uniform(random_));
  row_ = static_cast<std::size_t>(found - cumulative_.begin());
  return side_ == LengthSide::input ? row().input_tokens : row().output_tokens;
}

void note_clamped(const LengthSampler& sampler, std::string_view what,
                  std::vector<std::string>& notes) {
  if (sampler.clamped() == 0) return;
  const LengthDistribution& lengths = sampler.distribution();
  notes.push_back(fmt::format("{} drawn outside {} to {} and clamped",
                              counted(sampler.clamped(), fmt::format("{} length", what)),
                              lengths.min, lengths.max));
}

LengthPairSampler::LengthPairSampler(const LengthDistribution& input,
                                     const LengthDistribution& output, std::uint64_t seed,
                                     const std::vector<LengthTable>& tables)
    : inputs_(input, seed, "input_lengths", tables, LengthSide::input),
      outputs_(output, seed, "output_lengths", tables, LengthSide::output),
      joint_(input.kind == Kind::empirical && output.kind == Kind::empirical &&
             input.file == output.file && table_of(input, tables).paired) {}

LengthPairSampler::Pair LengthPairSampler::draw() {
  const std::int64_t input = inputs_.draw();
  return {.input = input, .output = joint_ ? inputs_.row().output_tokens : outputs_.draw()};
}

void LengthPairSampler::add_notes(std::vector<std::string>& notes) const {
  note_clamped(inputs_, "input", notes);
  note_clamped(outputs_, "output", notes);
}

}  // namespace roofcast
