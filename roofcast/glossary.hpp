// Every term of the lesson, the page and the manual in one plain sentence, with where it is
// measured.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.hpp"
#include "roofcast/envelope.hpp"

namespace roofcast {

struct GlossaryTerm {
  std::string key{};                     // "kv-cache"
  std::string term{};                    // "KV cache"
  std::vector<std::string> spellings{};  // further ones, as texts use them: "batches", "batching"
  std::string meaning{};                 // one plain sentence
  std::string where{};                   // where it is measured or chosen
};

struct GlossaryAnswer {
  AnswerHead head{};
  NoInputs inputs{};
  std::vector<GlossaryTerm> terms{};
};

/// All terms, in alphabetical order whatever their case.
const std::vector<GlossaryTerm>& glossary();

/// The term with this key, name or spelling, in any case; null if there is none.
const GlossaryTerm* find_term(std::string_view name);

/// Terms whose key, name or a spelling contains `text`, in any case; first those that contain it as
/// a whole word.
std::vector<GlossaryTerm> terms_with(std::string_view text);

/// Keys of the terms that a text uses as whole words, in any case (abbreviations only in their
/// own), in the order of their first use. Where two overlap the longer one counts: "KV cache", not
/// "cache".
std::vector<std::string> terms_of(std::string_view text);

/// The terms as an answer: what `roofcast learn glossary -o json` prints.
GlossaryAnswer glossary_answer(std::vector<GlossaryTerm> terms);
Json to_json(const GlossaryAnswer& answer);

/// Reads what to_json wrote. Throws Error naming the key and what was expected.
GlossaryAnswer glossary_answer_from_json(const Json& json);

/// JSON Schema (draft 2020-12) of to_json().
Json glossary_answer_schema();

template <class Visitor>
void members(Visitor& visit, GlossaryTerm& term) {
  visit("key", term.key, "in links");
  visit("term", term.term, "the usual name");
  visit("spellings", term.spellings, "further ones that texts use");
  visit("meaning", term.meaning, "one plain sentence");
  visit("where", term.where, "where it is measured or chosen");
}

template <class Visitor>
void members(Visitor& visit, GlossaryAnswer& answer) {
  members(visit, answer.head);
  visit("inputs", answer.inputs, "none");
  visit("terms", answer.terms, "in alphabetical order");
}

}  // namespace roofcast
