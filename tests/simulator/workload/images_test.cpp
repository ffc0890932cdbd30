#include <gmock/gmock.h>

#include "base/error.hpp"
#include "simulator/workload/generate_parts.hpp"

namespace roofcast::test {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(Images, StandAfterTheSharedPrefixAndAddToThePrompt) {
  SyntheticWorkload spec{.num_prompts = 3, .input = fixed_length(100)};
  spec.shared_prefix = SharedPrefix{.groups = 1, .system_prompt = fixed_length(40)};
  spec.images = {.count = 2, .tokens = 256};
  const Workload workload = generate(spec, 1);
  ASSERT_EQ(workload.requests.size(), 3U);
  for (const Request& request : workload.requests) {
    EXPECT_EQ(request.input_tokens, 40 + 2 * 256 + 100);
    EXPECT_EQ(request.images, 2);
    EXPECT_EQ(request.image_tokens, 256);
    EXPECT_EQ(request.images_begin, 40);
  }
  EXPECT_THAT(workload.description, HasSubstr("2 images of 256 tokens each"));
}

TEST(Images, KnobsOutOfRangeAreNamed) {
  EXPECT_THAT([] { generate({.images = {.count = -1}}, 0); },
              ThrowsMessage<Error>(HasSubstr("`images` is -1")));
  EXPECT_THAT([] { generate({.images = {.count = 1}}, 0); },
              ThrowsMessage<Error>(HasSubstr("`image_tokens` is 0")));
  EXPECT_THAT([] { generate({.sessions = Sessions{}, .images = {.count = 1, .tokens = 9}}, 0); },
              ThrowsMessage<Error>(HasSubstr("not with sessions")));
  EXPECT_THAT([] { generate({.images = {.count = 10'000, .tokens = 60'000}}, 0); },
              ThrowsMessage<Error>(HasSubstr("expected at most 10000000")));
  EXPECT_THAT([] { generate({.images = {.count = 1, .tokens = 65'536}}, 0); },
              ThrowsMessage<Error>(HasSubstr("expected 1 to 65535 tokens")));
}

}  // namespace
}  // namespace roofcast::test
