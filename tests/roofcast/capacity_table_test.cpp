#include "roofcast/capacity_table.hpp"

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "tests/roofcast/read_back.hpp"

namespace roofcast::test {
namespace {

using testing::HasSubstr;

CapacityTableQuestion chat_to_compare() {
  Scenario scenario{.deployment = {.model = "llama-3.1-8b", .gpu = "h100,l40s"}, .seed = 1};
  scenario.workload = SyntheticWorkload{.num_prompts = 100,
                                        .request_rate = 3,
                                        .input = fixed_length(1500),
                                        .output = fixed_length(20)};
  scenario.slo.targets = {parse_percentile_target("p95:ttft:1s")};
  return {.each = {.scenario = scenario, .threads = 1}, .gpus = {"h100", "l40s"}, .sizes = {1, 2}};
}

TEST(CapacityTable, HasTheCapacityOfEachAloneAndItsTokensCost) {
  const CapacityTableAnswer answer =
      test::read_back(capacity_table(chat_to_compare()), capacity_table_answer_from_json,
                      capacity_table_answer_schema());
  ASSERT_EQ(answer.rows.size(), 4U);
  EXPECT_TRUE(answer.holds);
  double before = 0;
  for (const CapacityTableRow& row : answer.rows) {
    SCOPED_TRACE(row.title);
    CapacityQuestion alone = chat_to_compare().each;
    alone.scenario.deployment.gpu = row.gpu;
    alone.scenario.deployment.parallel.tensor = row.tensor_parallel_size;
    EXPECT_EQ(row.capacity, capacity(alone).capacity);
    EXPECT_EQ(row.gpus, row.tensor_parallel_size);
    // $/h over a million tokens an hour; 75 prompt tokens come with each that is generated.
    const double per_million = *row.cost.dollars_per_hour / (row.output_tokens_per_s * 3600) * 1e6;
    EXPECT_NEAR(row.cost.dollars_per_million_output_tokens.value(), per_million, 1e-9);
    EXPECT_NEAR(row.cost.dollars_per_million_tokens.value(), per_million / 76, 1e-3 * per_million);
    EXPECT_GE(*row.cost.dollars_per_million_tokens, before);
    before = *row.cost.dollars_per_million_tokens;
    // Energy is the run's, in which the last answers take time, too.
    EXPECT_GE(row.cost.joules_per_output_token.value() * 1.001,
              row.cost.mean_power_w.value() / row.output_tokens_per_s);
    // Up to the capacity more load makes tokens cheaper and each user's slower.
    ASSERT_GE(row.points.size(), 3U);
    EXPECT_EQ(row.points.back().load, row.capacity);
    EXPECT_NEAR(row.points.back().dollars_per_million_tokens.value(),
                *row.cost.dollars_per_million_tokens, 1e-9);
    // The arrivals are drawn to have the rate, but for the first of the 100.
    EXPECT_NEAR(row.output_tokens_per_s, *row.capacity * 20, 2e-2 * *row.capacity * 20);
    EXPECT_GT(row.points.front().user_tokens_per_s, row.points.back().user_tokens_per_s);
    EXPECT_GT(*row.points.front().dollars_per_million_tokens, before);
  }
}

TEST(CapacityTable, StatesTheRequestsThatItSimulates) {
  CapacityTableQuestion question = chat_to_compare();
  question.gpus = {"h100"};
  question.sizes = {1};
  const auto requests_of = [](const CapacityTableAnswer& answer) {
    return std::get<SyntheticWorkload>(answer.inputs.scenario.workload).num_prompts;
  };
  EXPECT_EQ(requests_of(capacity_table(question)), 100);
  question.each.free_length = true;
  EXPECT_EQ(requests_of(capacity_table(question)), kRequestLimits.first);
}

TEST(CapacityTable, SaysWhyARowHasNone) {
  CapacityTableQuestion question = chat_to_compare();
  question.each.scenario.deployment.model = "llama-3.1-70b";  // 141 GB of weights
  question.gpus = {"h100"};
  question.sizes = {1, 3, 4};
  const CapacityTableAnswer answer = capacity_table(question);
  ASSERT_EQ(answer.rows.size(), 3U);
  EXPECT_EQ(answer.rows[0].tensor_parallel_size, 4);
  EXPECT_TRUE(answer.rows[0].capacity);
  EXPECT_THAT(answer.rows[1].reason, HasSubstr(" short on each GPU"));
  EXPECT_THAT(answer.rows[2].reason, HasSubstr("divide"));
}

// 131,072 tokens take 80 layers x 8 heads x 128 x 2 x 2 bytes each, 40 GiB: a little more than is
// left.
TEST(CapacityTable, NamesTheLongestContextWhereTheFullOneDoesNotFit) {
  CapacityTableQuestion question = chat_to_compare();
  question.each.scenario.deployment.model = "llama-3.1-70b";
  question.gpus = {"mi300x"};
  question.sizes = {1};
  const CapacityTableAnswer answer = capacity_table(question);
  EXPECT_THAT(answer.rows[0].reason,
              testing::AllOf(HasSubstr("131,072 tokens of context do not fit, "),
                             HasSubstr(" would (`max_model_len`)")));
}

TEST(CapacityTable, StatesTheLoadWithoutARateThatNoRowHas) {
  CapacityTableQuestion question = chat_to_compare();
  question.each.scenario.deployment.model = "llama-3.1-405b";  // fits on neither
  question.sizes = {1};
  const CapacityTableAnswer answer = capacity_table(question);
  EXPECT_FALSE(answer.holds);
  EXPECT_THAT(answer.workload, HasSubstr("100 requests at any rate"));
}

TEST(CapacityTable, OfAnyDegreeLeavesOutThoseThatDoNotDivide) {
  CapacityTableQuestion question = chat_to_compare();
  question.each.scenario.deployment.model = "gpt2";  // 12 heads: 8 does not divide them
  question.each.scenario.workload = SyntheticWorkload{
      .num_prompts = 50, .request_rate = 3, .input = fixed_length(100), .output = fixed_length(20)};
  question.gpus = {"h100"};
  question.sizes = {};
  const CapacityTableAnswer answer = capacity_table(question);
  ASSERT_EQ(answer.rows.size(), 3U);
  EXPECT_EQ(answer.inputs.sizes.size(), 4U);
}

TEST(CapacityTable, RefusesAGpuThatDoesNotExist) {
  CapacityTableQuestion question = chat_to_compare();
  question.gpus = {"h100", "h101"};
  EXPECT_THROW(capacity_table(question), Error);
}

}  // namespace
}  // namespace roofcast::test
