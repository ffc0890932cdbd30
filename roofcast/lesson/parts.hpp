// How steps of the lesson are put together: guesses, and numbers in words. Internal to roofcast/.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "roofcast/lesson/facts.hpp"

namespace roofcast {

// ---- numbers in words

/// "1.04", "2.3", "171": two digits more than the eye needs near 1, none from 10.
std::string ratio_words(double ratio);

/// "8.03 billion", "124 million", "50,257".
std::string amount_words(double amount);

/// "14.96 GiB", "327,680 bytes".
std::string size_words(Bytes bytes);

/// "64 texts"; "1 text".
std::string texts_words(std::int64_t number);

// ---- guesses

/// A plain guess that is not the answer, and why.
struct PlainGuess {
  double value = 0;
  std::string said{};
};

/// A number to be guessed, judged by its ratio to the truth. A slider goes from `low` to `high`.
struct NumberAsk {
  std::string prompt{};
  double truth = 0;
  std::string unit = "times";
  double start = 1, low = 1, high = 200;
  std::string truth_text{};  // empty: the truth as ratio_words
  bool change = false;       // a guess on the other side of 1, "no change", is not near
  std::optional<PlainGuess> plain{};
};
LessonAsk ask_number(const NumberAsk& number);

LessonAsk ask_choice(std::string prompt, std::vector<LessonChoice> choices, std::string right);

// ---- the steps, in their order

/// One token at a time; the five guesses.
void add_guesses(const LessonFacts& facts, std::vector<LessonStep>& steps);

/// Prefill and decode, the roofline, batches, speculation, quantisation.
void add_limits(const LessonFacts& facts, std::vector<LessonStep>& steps);

/// Paging, SLO classes, utilisation, sampling.
void add_serving(const LessonFacts& facts, std::vector<LessonStep>& steps);

std::vector<TeachBack> teach_back(const LessonFacts& facts);

/// The work of a step of one token, however little it computes: "still has to read all ... of
/// weights".
std::string what_is_left(const LessonFacts& facts);

/// Why prefill and decode take what they take, each in a sentence.
std::string why_prefill(const LessonFacts& facts);
std::string why_decode(const LessonFacts& facts);

/// The gain of weights in 8 bits for a decode step of this deployment: "Here a step takes 4.6 ms
/// with 8 bits instead of 6.3 ms with 16."
std::string what_narrow_gains(const LessonFacts& facts);

/// "At full bandwidth its reading would take 17 % of that, and its arithmetic at the peak 3 %".
std::string at_full_speed(const LessonWork& work);

}  // namespace roofcast
