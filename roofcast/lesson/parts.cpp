#include "roofcast/lesson/parts.hpp"

#include <fmt/format.h>

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

std::vector<GuessBand> bands_around(double truth) {
  const std::string more = "It is more than that.", less = "It is less than that.";
  return {{0, truth / kNotFarOff, Grade::off, more},
          {truth / kNotFarOff, truth / kVeryClose, Grade::not_far_off, "Not far off. " + more},
          {truth / kVeryClose, truth * kVeryClose, Grade::very_close, "Very close."},
          {truth * kVeryClose, truth * kNotFarOff, Grade::not_far_off, "Not far off. " + less},
          {truth * kNotFarOff, std::nullopt, Grade::off, less}};
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
          .bands = bands_around(number.truth)};
}

LessonAsk ask_choice(std::string prompt, std::vector<LessonChoice> choices, std::string right) {
  return {.kind = GuessKind::choice,
          .prompt = std::move(prompt),
          .choices = std::move(choices),
          .right = std::move(right)};
}

}  // namespace roofcast
