#include "roofcast/glossary.hpp"

#include <set>

#include "base/text.hpp"
#include "tests/roofcast/read_back.hpp"

namespace roofcast {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Glossary, EveryTermHasAnEntryOfItsOwnInOneSentence) {
  std::set<std::string> keys, names;
  for (const GlossaryTerm& term : glossary()) {
    EXPECT_TRUE(keys.insert(term.key).second) << term.key;
    EXPECT_TRUE(names.insert(lower(term.term)).second) << term.term;
    for (const std::string& one : term.spellings) {
      EXPECT_TRUE(names.insert(lower(one)).second) << one;
    }
    EXPECT_TRUE(term.meaning.ends_with('.')) << term.term;
    EXPECT_EQ(term.meaning.find(". "), std::string::npos) << term.meaning;
    EXPECT_FALSE(term.where.empty()) << term.term;
  }
}

TEST(Glossary, IsInAlphabeticalOrderWhateverTheCase) {
  std::string before;
  for (const GlossaryTerm& term : glossary()) {
    EXPECT_LT(before, lower(term.term));
    before = lower(term.term);
  }
}

TEST(Glossary, FindsTermsByKeyNameAndSpelling) {
  for (const char* name : {"kv-cache", "KV cache", "kv caches"}) {
    ASSERT_NE(find_term(name), nullptr) << name;
    EXPECT_EQ(find_term(name)->key, "kv-cache");
  }
  EXPECT_EQ(find_term("nothing"), nullptr);
  EXPECT_THAT(terms_with("nothing like it"), IsEmpty());
  EXPECT_GE(terms_with("cache").size(), 2U);
}

TEST(Glossary, WholeWordsComeBeforePartsOfWords) {
  EXPECT_EQ(find_term("us")->key, "us");
  const std::vector<GlossaryTerm> found =
      terms_with("page");  // a spelling of block; "pages", "paging"
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found.front().key, "block");
  const std::vector<GlossaryTerm> host = terms_with("time");  // "times" nowhere before "host time"
  ASSERT_FALSE(host.empty());
  EXPECT_NE((" " + host.front().term + " ").find(" time "), std::string::npos);
}

TEST(Glossary, TermsOfATextAreWholeWordsAndTheLongestOfThem) {
  EXPECT_THAT(terms_of("The KV cache keeps keys and values."),
              ElementsAre("kv-cache", "keys-and-values"));
  EXPECT_THAT(terms_of("Prefill, then decode; prefill again"), ElementsAre("prefill", "decode"));
  EXPECT_THAT(terms_of("a footstep, stepping"), IsEmpty());
  EXPECT_THAT(terms_of("http and tp are no TP"), ElementsAre("tensor-parallelism"));
  EXPECT_THAT(terms_of(""), IsEmpty());
}

TEST(Glossary, ReadsBack) {
  test::read_back(glossary_answer(glossary()), glossary_answer_from_json, glossary_answer_schema());
}

}  // namespace
}  // namespace roofcast
