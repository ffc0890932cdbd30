// The small engine generates the same tokens however its scheduler splits the work, and the same as
// a plain forward pass.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "calibrate/runtime/serve.hpp"
#include "tests/calibrate/runtime/reference_backend.hpp"
#include "tests/calibrate/runtime/reference_model.hpp"
#include "tests/calibrate/runtime/tiny_models.hpp"

namespace roofcast::test {
namespace {

using runtime::RunnableModel;

constexpr std::uint64_t kSeed = 11;
using Sequences = std::map<RequestId, std::vector<std::int32_t>>;

/// How a run is scheduled.
struct Schedule {
  SchedulerKind scheduler = SchedulerKind::vllm_v1;
  std::int64_t batched_tokens = 64;
  std::int64_t sequences = 8;
  std::int32_t pages = 64;
  int page_size = 4;
};

Engine engine_of(const Schedule& schedule) {
  Engine engine;
  engine.name = "test";
  engine.scheduler = schedule.scheduler;
  engine.max_model_len = 64;
  engine.max_num_seqs = schedule.sequences;
  engine.max_num_batched_tokens = schedule.batched_tokens;
  engine.block_size = schedule.page_size;
  engine.cuda_graphs = false;
  return engine;
}

/// Three requests: lengths in and out.
Workload three_requests() {
  Workload workload;
  workload.requests.push_back({.arrival = 0, .input_tokens = 7, .output_tokens = 6});
  workload.requests.push_back({.arrival = 0, .input_tokens = 13, .output_tokens = 4});
  workload.requests.push_back({.arrival = 1000, .input_tokens = 1, .output_tokens = 9});
  return workload;
}

runtime::ServedRun served(const RunnableModel& model, const Schedule& schedule) {
  ReferenceBackend backend;
  runtime::Executor executor(backend, model,
                             {.rows = 64,
                              .sequences = 8,
                              .context = 64,
                              .pages = schedule.pages,
                              .page_size = schedule.page_size},
                             kSeed);
  return runtime::serve(executor, three_requests(),
                        {.engine = engine_of(schedule), .spans = {{}}, .seed = 3});
}

Sequences expected(const RunnableModel& model, const Sequences& generated) {
  ReferenceModel reference(model, kSeed);
  Sequences result;
  const Workload workload = three_requests();
  for (const auto& [id, tokens] : generated) {
    const Request& request = workload.requests[static_cast<std::size_t>(id)];
    const std::vector<std::int32_t> prompt(tokens.begin(), tokens.begin() + request.input_tokens);
    result[id] = reference.generate(prompt, request.output_tokens);
  }
  return result;
}

class GreedyTokens : public testing::TestWithParam<RunnableModel> {};

TEST_P(GreedyTokens, AreThoseOfAPlainForwardPass) {
  const runtime::ServedRun run = served(GetParam(), {});
  EXPECT_EQ(run.result.completed, 3);
  EXPECT_EQ(run.sequences.size(), 3U);
  EXPECT_EQ(run.sequences, expected(GetParam(), run.sequences));
}

TEST_P(GreedyTokens, AreTheSameHoweverTheWorkIsCut) {
  const Sequences whole = served(GetParam(), {}).sequences;
  // Prompts in chunks of at most 5 tokens, among decodes.
  EXPECT_EQ(served(GetParam(), {.batched_tokens = 5, .sequences = 5}).sequences, whole);
  // One request at a time.
  EXPECT_EQ(served(GetParam(), {.sequences = 1}).sequences, whole);
  // Pages of one token.
  EXPECT_EQ(served(GetParam(), {.page_size = 1}).sequences, whole);
  // Static batches.
  EXPECT_EQ(served(GetParam(), {.scheduler = SchedulerKind::static_batch}).sequences, whole);
}

TEST_P(GreedyTokens, AreTheSameWithoutACache) {
  const Sequences whole = served(GetParam(), {}).sequences;
  EXPECT_EQ(served(GetParam(), {.scheduler = SchedulerKind::naive}).sequences, whole);
}

TEST_P(GreedyTokens, AreTheSameAfterPreemption) {
  // Room for 24 of the 40 tokens that the three requests come to.
  const runtime::ServedRun run = served(GetParam(), {.pages = 6});
  EXPECT_GT(run.result.use.preemptions, 0);
  EXPECT_EQ(run.sequences, served(GetParam(), {}).sequences);
}

INSTANTIATE_TEST_SUITE_P(Models, GreedyTokens,
                         testing::Values(tiny_dense(), tiny_gpt2(), tiny_windowed(),
                                         tiny_experts()),
                         [](const auto& model) {
                           std::string name = model.param.name;
                           name.erase(std::remove(name.begin(), name.end(), ' '), name.end());
                           return name;
                         });

TEST(SmallEngine, CountsItsSteps) {
  const runtime::ServedRun run = served(tiny_dense(), {});
  std::int64_t decodes = 0;
  std::int64_t prompt_tokens = 0;
  for (const runtime::TimedStep& step : run.steps) {
    EXPECT_GT(step.time.value, 0);
    decodes += step.batch.decode_sequences;
    for (const PrefillChunk& chunk : step.batch.prefills) prompt_tokens += chunk.new_tokens;
  }
  EXPECT_EQ(prompt_tokens, 7 + 13 + 1);
  EXPECT_EQ(decodes, 5 + 3 + 8);  // the first token of each comes from its prompt
  EXPECT_EQ(static_cast<std::int64_t>(run.steps.size()), run.result.use.steps);
}

}  // namespace
}  // namespace roofcast::test
