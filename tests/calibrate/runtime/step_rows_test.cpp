#include "calibrate/runtime/step_rows.hpp"

#include <gmock/gmock.h>

namespace roofcast::runtime {
namespace {

using testing::ElementsAre;

TEST(StepRows, PutsPromptsFirstAndThenTheTokensThatDecode) {
  PageBook pages(8, 4, 1);
  const std::vector<std::int32_t> decoding{50};
  const std::vector<std::int32_t> chunk{10, 11, 12};
  // Request 3 decodes its 6th token; request 9 computes three tokens after two that are cached.
  const StepRows rows = step_rows(
      std::vector<SequenceRows>{
          {.request = 3, .cached = 5, .tokens = decoding, .samples = true, .decodes = true},
          {.request = 9, .cached = 2, .tokens = chunk, .samples = false}},
      pages, 3);
  EXPECT_THAT(rows.token, ElementsAre(10, 11, 12, 50));
  EXPECT_THAT(rows.position, ElementsAre(2, 3, 4, 5));
  EXPECT_THAT(rows.first_query, ElementsAre(0, 3));
  EXPECT_THAT(rows.prompts.length, ElementsAre(5));
  EXPECT_THAT(rows.decodes.length, ElementsAre(6));
  EXPECT_EQ(rows.prompts.page_table.size(), 3U);  // two used, one to spare
  EXPECT_EQ(rows.longest_query, 3);
  EXPECT_EQ(rows.prompts.longest_length, 5);
  EXPECT_EQ(rows.decodes.longest_length, 6);
  EXPECT_THAT(rows.sampled_row, ElementsAre(3));
  EXPECT_THAT(rows.sampled_request, ElementsAre(3));
  // Token 4 of request 9 is the first of its second page.
  EXPECT_EQ(rows.slot[2], std::int64_t{rows.prompts.page_table[1]} * 4);
}

TEST(StepRows, SamplesAfterTheLastTokenOfAPrompt) {
  PageBook pages(8, 4, 1);
  const std::vector<std::int32_t> prompt{1, 2};
  const StepRows rows = step_rows(
      std::vector<SequenceRows>{{.request = 0, .cached = 0, .tokens = prompt, .samples = true},
                                {.request = 1, .cached = 0, .tokens = prompt, .samples = true}},
      pages, 1);
  EXPECT_THAT(rows.sampled_row, ElementsAre(1, 3));
  EXPECT_THAT(rows.first_query, ElementsAre(0, 2, 4));
}

}  // namespace
}  // namespace roofcast::runtime
