#include "roofcast/learn.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/quantity.hpp"
#include "base/text.hpp"
#include "roofcast/answer_json.hpp"
#include "roofcast/lesson/parts.hpp"

namespace roofcast {

template <>
struct EnumNames<GuessKind> {
  static constexpr std::array<std::pair<GuessKind, std::string_view>, 3> values = {
      {{GuessKind::choice, "choice"}, {GuessKind::number, "number"}, {GuessKind::match, "match"}}};
};

template <>
struct EnumNames<Grade> {
  static constexpr std::array<std::pair<Grade, std::string_view>, 5> values = {
      {{Grade::right, "right"},
       {Grade::very_close, "very_close"},
       {Grade::not_far_off, "not_far_off"},
       {Grade::off, "off"},
       {Grade::wrong, "wrong"}}};
};

template <>
struct EnumNames<JobArrival> {
  static constexpr std::array<std::pair<JobArrival, std::string_view>, 4> values = {
      {{JobArrival::none, "none"},
       {JobArrival::at_once, "at_once"},
       {JobArrival::behind_chat, "behind_chat"},
       {JobArrival::spread, "spread"}}};
};

namespace {

constexpr const char* kLearnCommand = "learn";

/// All that is said in a step, a paragraph a line.
std::string whole_text(const LessonStep& step) {
  std::string text = step.title;
  const auto add = [&](const std::string& more) { text += "\n" + more; };
  std::ranges::for_each(step.text, add);
  if (step.ask) {
    add(step.ask->prompt);
    for (const LessonChoice& choice : step.ask->choices) add(choice.text);
    for (const LessonItem& item : step.ask->items) add(item.text);
  }
  std::ranges::for_each(step.reveal, add);
  return text;
}

/// The choice of that key, or of that number from 1.
const LessonChoice* choice_of(const LessonAsk& ask, std::string_view guess) {
  for (std::size_t i = 0; i < ask.choices.size(); ++i) {
    if (lower(guess) == ask.choices[i].key || guess == std::to_string(i + 1))
      return &ask.choices[i];
  }
  return nullptr;
}

std::string lower_first(std::string text) {
  const bool is_abbreviation = text.size() > 1 && text[1] >= 'A' && text[1] <= 'Z';
  if (!text.empty() && !is_abbreviation) text.replace(0, 1, lower(text.substr(0, 1)));
  return text;
}

std::optional<Judgement> judge_choice(const LessonAsk& ask, std::string_view guess) {
  const LessonChoice* chosen = choice_of(ask, guess);
  if (!chosen) return std::nullopt;
  return judgements(ask)[static_cast<std::size_t>(chosen - ask.choices.data())];
}

std::optional<Judgement> judge_number(const LessonAsk& ask, std::string_view guess) {
  const auto number = to_number<double>(guess);
  if (!number || *number < 0) return std::nullopt;
  for (const GuessBand& band : ask.bands) {
    if (*number >= band.low && (!band.high || *number < *band.high)) {
      return Judgement{band.grade, band.said};
    }
  }
  return std::nullopt;
}

std::optional<Judgement> judge_match(const LessonAsk& ask, std::string_view guess) {
  std::vector<std::string_view> words = split(guess, ' ');
  std::erase(words, "");
  if (words.size() != ask.items.size()) return std::nullopt;
  std::size_t right = 0;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const LessonChoice* chosen = choice_of(ask, words[i]);
    if (!chosen) return std::nullopt;
    if (chosen->key == ask.items[i].right) ++right;
  }
  return judgements(ask)[right];
}

}  // namespace

std::vector<Judgement> judgements(const LessonAsk& ask) {
  std::vector<Judgement> all;
  if (ask.kind == GuessKind::choice) {
    const LessonChoice* right = choice_of(ask, ask.right.value_or(""));
    const std::string no = right ? "No: " + lower_first(right->text) + "." : "No.";
    for (const LessonChoice& choice : ask.choices) {
      const bool is_right = choice.key == ask.right;
      all.push_back(is_right ? Judgement{Grade::right, "Right."} : Judgement{Grade::wrong, no});
    }
  } else if (ask.kind == GuessKind::match) {
    const std::string of = " of " + std::to_string(ask.items.size()) + " are right.";
    for (std::size_t right = 0; right < ask.items.size(); ++right) {
      all.push_back({Grade::wrong, std::to_string(right) + of});
    }
    all.push_back({Grade::right, "All of them are right."});
  }
  return all;
}

LessonAnswer learn(const LessonQuestion& question, const Progress& progress) {
  LessonFacts facts = lesson_facts(question, progress);
  LessonAnswer answer{.head = answer_head(kLearnCommand),
                      .inputs = {.deployment = inputs_of(facts.deployment),
                                 .prompt_tokens = facts.prompt,
                                 .generated_tokens = facts.generate,
                                 .acceptance = facts.acceptance,
                                 .drafts = facts.drafts},
                      .notes = facts.notes,
                      .headline = headline(facts.deployment)};
  add_guesses(facts, answer.steps);
  add_limits(facts, answer.steps);
  add_serving(facts, answer.steps);
  for (LessonStep& step : answer.steps) step.terms = terms_of(whole_text(step));
  answer.teach_back = teach_back(facts);
  answer.numbers = std::move(facts.numbers);
  return answer;
}

std::optional<Judgement> judge(const LessonAsk& ask, std::string_view guess) {
  const std::string_view given = trimmed(guess);
  switch (ask.kind) {
    case GuessKind::choice:
      return judge_choice(ask, given);
    case GuessKind::number:
      return judge_number(ask, given);
    case GuessKind::match:
      return judge_match(ask, given);
  }
  return std::nullopt;
}

std::string answer_words(const LessonAsk& ask) {
  if (ask.kind == GuessKind::number) return ask.truth_text.value_or("");
  const auto text_of = [&](const std::string& key) {
    const LessonChoice* choice = choice_of(ask, key);
    return choice ? choice->text : key;
  };
  if (ask.kind == GuessKind::choice) return text_of(ask.right.value_or(""));
  std::string text;
  for (const LessonItem& item : ask.items) {
    text += (text.empty() ? "" : "; ") + item.text + " - " + text_of(item.right);
  }
  return text;
}

bool is_good(Grade grade) { return grade == Grade::right || grade == Grade::very_close; }

std::vector<std::string> lesson_step_keys() {
  return {"start",  "shape",    "grows",    "fortieth",    "cause",        "fixes",
          "phases", "roofline", "batching", "speculative", "quantisation", "paging",
          "slo",    "busy",     "night",    "sampling",    "teach-back"};
}

const LessonStep* find_step(const LessonAnswer& answer, std::string_view key) {
  const auto found = std::ranges::find(answer.steps, key, &LessonStep::key);
  return found == answer.steps.end() ? nullptr : &*found;
}

Json to_json(const LessonAnswer& answer) { return record_to_json(answer); }

LessonAnswer lesson_answer_from_json(const Json& json) {
  return answer_from_json<LessonAnswer>(json, kLearnCommand);
}

Json lesson_answer_schema() { return schema_document<LessonAnswer>("roofcast learn"); }

}  // namespace roofcast
