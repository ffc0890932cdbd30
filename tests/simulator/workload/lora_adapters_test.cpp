#include "simulator/workload/generate_parts.hpp"

#include <gmock/gmock.h>

#include "base/error.hpp"

namespace roofcast::test {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

std::vector<double> requests_by_adapter(std::int64_t requests, const LoraAdapters& lora) {
  const Workload workload = generate({.num_prompts = requests, .lora = lora}, 5);
  std::vector<double> counts(static_cast<std::size_t>(lora.count), 0);
  for (const Request& request : workload.requests) {
    counts.at(static_cast<std::size_t>(request.adapter)) += 1;
  }
  return counts;
}

TEST(LoraAdapters, WithoutAnyAllRequestsAreForTheBaseModel) {
  const Workload workload = generate({.num_prompts = 3}, 0);
  for (const Request& request : workload.requests) EXPECT_EQ(request.adapter, -1);
}

TEST(LoraAdapters, AreDrawnEvenly) {
  // Chi square with 7 degrees of freedom passes 29.9 once in 10,000 times.
  double chi_square = 0;
  for (double count : requests_by_adapter(80'000, {.count = 8})) {
    chi_square += (count - 10'000) * (count - 10'000) / 10'000;
  }
  EXPECT_LT(chi_square, 29.9);
}

TEST(LoraAdapters, OrByZipf) {
  // Weights 1, 1/2, 1/3: 6/11, 3/11, 2/11 of 110,000; deviations sqrt(n p q) 165, 148, 128.
  const auto counts = requests_by_adapter(110'000, {.count = 3, .zipf = 1});
  EXPECT_NEAR(counts[0], 60'000, 4 * 165);
  EXPECT_NEAR(counts[1], 30'000, 4 * 148);
  EXPECT_NEAR(counts[2], 20'000, 4 * 128);
}

TEST(LoraAdapters, DoNotDisturbTheOtherDraws) {
  SyntheticWorkload spec{.num_prompts = 50, .request_rate = 2};
  spec.input = {.kind = LengthDistribution::Kind::lognormal, .a = 200, .b = 1};
  const Workload before = generate(spec, 1);
  spec.lora = {.count = 4};
  const Workload after = generate(spec, 1);
  for (std::size_t i = 0; i < 50; ++i) {
    EXPECT_EQ(before.requests[i].arrival, after.requests[i].arrival);
    EXPECT_EQ(before.requests[i].input_tokens, after.requests[i].input_tokens);
  }
}

TEST(LoraAdapters, KnobsOutOfRangeAreNamed) {
  EXPECT_THAT([] { generate({.lora = {.count = -1}}, 0); },
              ThrowsMessage<Error>(HasSubstr("`lora_adapters` is -1")));
  EXPECT_THAT([] { generate({.lora = {.count = 1, .zipf = 11}}, 0); },
              ThrowsMessage<Error>(HasSubstr("`lora_zipf` is 11")));
}

}  // namespace
}  // namespace roofcast::test
