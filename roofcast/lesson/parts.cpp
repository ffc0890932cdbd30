#include "roofcast/lesson/parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/numbers.hpp"
#include "base/wording.hpp"

namespace roofcast {
namespace {

// Ratios of guess and truth that count as near. A choice of the lesson: people guess in steps of
// about two, so 1.6 is still their right one.
constexpr double kVeryClose = 1.15;
constexpr double kNotFarOff = 1.6;

// "1.00" in words: hardly a change.
constexpr double kNoChange = 0.005;

std::vector<GuessBand> bands_around(double truth) {
  const std::string more = "It is more than that.", less = "It is less than that.";
  return {{0, truth / kNotFarOff, Grade::off, more},
          {truth / kNotFarOff, truth / kVeryClose, Grade::not_far_off, "Not far off. " + more},
          {truth / kVeryClose, truth * kVeryClose, Grade::very_close, "Very close."},
          {truth * kVeryClose, truth * kNotFarOff, Grade::not_far_off, "Not far off. " + less},
          {truth * kNotFarOff, std::nullopt, Grade::off, less}};
}

/// Guesses from `low` to below `high` get this grade, whatever they had.
void set_band(const GuessBand& set, std::vector<GuessBand>& bands) {
  std::vector<GuessBand> all;
  const auto keep = [&](GuessBand band, double low, std::optional<double> high) {
    band.low = low;
    band.high = high;
    if (!high || low < *high) all.push_back(std::move(band));
  };
  for (const GuessBand& band : bands) {  // keeps its parts before and behind `set`
    const bool ends_before = band.high && *band.high <= set.low;
    keep(band, band.low, ends_before ? band.high : std::max(band.low, set.low));
    if (set.high && (!band.high || *band.high > *set.high)) {
      keep(band, std::max(band.low, *set.high), band.high);
    }
  }
  all.push_back(set);
  std::ranges::sort(all, {}, &GuessBand::low);
  bands = std::move(all);
}

std::vector<GuessBand> bands_of(const NumberAsk& ask) {
  std::vector<GuessBand> bands = bands_around(ask.truth);
  if (ask.change && ask.truth > 1 + kNoChange) {
    set_band({0, std::nextafter(1.0, 2.0), Grade::off, "No: it is more than 1, so it does change."},
             bands);
  }
  if (ask.change && ask.truth < 1 - kNoChange) {
    set_band({1, std::nullopt, Grade::off, "No: it is less than 1, so it does change."}, bands);
  }
  if (ask.plain && std::abs(std::log(ask.plain->value / ask.truth)) >= std::log(kVeryClose)) {
    const double value = ask.plain->value;
    set_band({value, std::nextafter(value, 2 * value), Grade::off, ask.plain->said}, bands);
  }
  return bands;
}

}  // namespace

std::string ratio_words(double ratio) {
  if (ratio < 1.1) return fixed(ratio, 2);
  return fixed(ratio, ratio < 10 ? 1 : 0);
}

std::string amount_words(double amount) {
  if (amount >= 1e9) return fixed(amount / 1e9, amount < 1e11 ? 2 : 0) + " billion";
  if (amount >= 1e6) return fixed(amount / 1e6, 0) + " million";
  return fixed(amount, 0);
}

std::string size_words(Bytes bytes) {
  constexpr double kSpelledOut = 1024.0 * 1024.0;
  return bytes.value < kSpelledOut ? fixed(bytes.value, 0) + " bytes" : as_bytes(bytes);
}

std::string texts_words(std::int64_t number) { return counted(number, "text"); }

LessonAsk ask_number(const NumberAsk& number) {
  return {.kind = GuessKind::number,
          .prompt = number.prompt,
          .truth = number.truth,
          .truth_text = number.truth_text.empty() ? ratio_words(number.truth) + " " + number.unit
                                                  : number.truth_text,
          .unit = number.unit,
          .start = number.start,
          .low = number.low,
          .high = number.high,
          .bands = bands_of(number)};
}

LessonAsk ask_choice(std::string prompt, std::vector<LessonChoice> choices, std::string right) {
  return {.kind = GuessKind::choice,
          .prompt = std::move(prompt),
          .choices = std::move(choices),
          .right = std::move(right)};
}

}  // namespace roofcast
