#include "planner/search/search_space.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "planner/search/candidate.hpp"
#include "planner/search/plan_limits.hpp"

namespace roofcast {
namespace {

TEST(SearchSpace, MakesEveryCombinationOfItsValues) {
  const SearchSpace space{
      .gpus = {"a", "b"},
      .dimensions =
          completed({parse_dimension("kv=default,fp8"), parse_dimension("tp=1,2,4")}, false)};
  const std::vector<Shape> shapes = shapes_of(space);
  ASSERT_EQ(shapes.size(), 2U * 3 * 2);
  EXPECT_EQ(shapes[0].gpu, "a");
  EXPECT_EQ(shapes[0].parallel.tensor, 1);
  EXPECT_EQ(shapes[0].overrides.kv_cache_dtype, std::nullopt);
  EXPECT_EQ(shapes[1].overrides.kv_cache_dtype, DType::fp8);
  EXPECT_EQ(shapes[2].parallel.tensor, 2);
  EXPECT_EQ(shapes[11].gpu, "b");
  EXPECT_EQ(shapes[11].parallel.tensor, 4);
}

TEST(SearchSpace, NamesEveryKnobThatIsSetButThatOfThePlacement) {
  Shape shape;
  EXPECT_EQ(knobs_of(shape), "");
  shape.overrides = {.gpu_memory_utilization = 0.95,
                     .max_num_seqs = 64,
                     .kv_cache_dtype = DType::fp8,
                     .enable_prefix_caching = false,
                     .scheduling_policy = QueueOrder::priority};
  EXPECT_EQ(knobs_of(shape),
            "gpu-memory-utilization 0.95, max-num-seqs 64, enable-prefix-caching off, "
            "scheduling-policy priority");
}

TEST(SearchSpace, SearchesTensorParallelismUnlessItIsSet) {
  EXPECT_EQ(completed({}, false).at(0).values, (std::vector<std::string>{"1", "2", "4", "8"}));
  EXPECT_TRUE(completed({}, true).empty());
  EXPECT_EQ(completed({parse_dimension("tp=16")}, false).at(0).values.at(0), "16");
}

TEST(SearchSpace, WithoutDraftsLeavesOutWhatIsSaidOfThem) {
  // The engine refuses what is said of drafts where there are none: such a shape would never run.
  SearchSpace space{.gpus = {"a"}, .dimensions = {parse_dimension("num_speculative_tokens=0,3")}};
  space.base.overrides.acceptance_rate = 0.7;
  space.base.overrides.speculative_method = DraftMethod::draft_model;
  space.base.overrides.draft_pass_time = Seconds{0.001};
  const std::vector<Shape> shapes = shapes_of(space);
  ASSERT_EQ(shapes.size(), 2U);
  const EngineOverrides& none = shapes[0].overrides;
  EXPECT_FALSE(none.num_speculative_tokens || none.acceptance_rate || none.speculative_method ||
               none.draft_pass_time);
  EXPECT_EQ(shapes[1].overrides.num_speculative_tokens, 3);
  EXPECT_EQ(shapes[1].overrides.acceptance_rate, 0.7);
  EXPECT_EQ(shapes[1].overrides.speculative_method, DraftMethod::draft_model);
}

TEST(SearchSpace, RefusesWhatItCannotSearch) {
  EXPECT_THROW(parse_dimension("colour=red"), UsageError);
  EXPECT_THROW(parse_dimension("tp"), UsageError);
  EXPECT_THROW(parse_dimension("tp="), UsageError);
  EXPECT_THROW(parse_dimension("tp=0"), UsageError);
  EXPECT_THROW(parse_dimension("tp=two"), UsageError);
  EXPECT_THROW(parse_dimension("tp=1,1"), UsageError);
  EXPECT_THROW(parse_dimension("pools=1"), UsageError);
  EXPECT_THROW(parse_dimension("ep=maybe"), UsageError);
  EXPECT_THROW(completed({parse_dimension("tp=1"), parse_dimension("tp=2")}, false), UsageError);
}

TEST(SearchSpace, RefusesMoreShapesThanAnyoneWaitsFor) {
  SearchSpace space{.gpus = {"a"}};
  const Knob many = parse_dimension("max_num_seqs=1-1000+1");
  space.dimensions = {many, parse_dimension("max_num_batched_tokens=1-1000+1"),
                      parse_dimension("tp=1,2")};
  EXPECT_THROW(shapes_of(space), UsageError);
}

TEST(Candidate, SplitsCountTheGpusOfBothPools) {
  Shape shape{.gpu = "h100", .gpu_title = "H100", .parallel = {.tensor = 2}};
  EXPECT_EQ(gpus_per_unit(shape), 2);
  shape.split = {.prefill = 1, .decode = 3};
  EXPECT_EQ(gpus_per_unit(shape), 2 * (1 + 3));
  const Scenario scenario = scenario_of({}, {.shape = shape, .units = 2});
  ASSERT_EQ(scenario.cluster->pools.size(), 2U);
  EXPECT_EQ(scenario.cluster->pools[0].replicas, 2);
  EXPECT_EQ(scenario.cluster->pools[1].replicas, 6);
  EXPECT_EQ(scenario.cluster->pools[1].role, PoolRole::decode);
}

TEST(Candidate, IsNamedAfterItsEngineWhereSeveralAreSearched) {
  Shape shape{.gpu_title = "H100", .parallel = {.tensor = 2}};
  EXPECT_EQ(short_name(shape), "2x H100 TP2");
  shape.engine_title = "sglang-0.5.7";
  EXPECT_EQ(short_name(Candidate{.shape = shape, .units = 1}),
            "1 replica of 2x H100 TP2, sglang-0.5.7");
}

TEST(PlanLimits, TheTightestDecides) {
  const Shape shape{.gpu = "h100", .parallel = {.tensor = 2}};
  Gpu gpu;
  gpu.board_power = Watts{700};
  gpu.price = DollarsPerHour{2.5};
  PlanLimits limits;
  const auto units = [&] { return max_units(needs_of(shape, gpu, limits), "h100", limits, 64); };
  EXPECT_EQ(units().units, 64);
  limits.available = {{"h100", 9}};
  EXPECT_EQ(units().units, 4);  // 9 GPUs, 2 each
  limits.budget_per_hour = 15;  // 5 dollars a unit: 3, exactly
  EXPECT_EQ(units().units, 3);
  limits.power_w = 2799;  // 1,400 W a unit
  EXPECT_EQ(units().units, 1);
  EXPECT_EQ(units().by, "the power of 2799 W");
  limits.prices = {{"h100", 20}};  // 40 dollars a unit
  EXPECT_EQ(units().units, 0);
}

TEST(PlanLimits, WithoutAPriceCostIsRefusedNamingWhatTheFlagTakes) {
  Gpu gpu;
  gpu.name = "x";
  const Shape shape{.gpu = "./x.json"};
  const UnitNeeds needs = needs_of(shape, gpu, {});
  EXPECT_DOUBLE_EQ(objective_of(needs, shape, PlanObjective::gpus, {}), 1);
  try {
    objective_of(needs, shape, PlanObjective::cost, {});
    FAIL() << "expected an error";
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("`price` ./x.json=2.5"), std::string::npos);
  }
}

}  // namespace
}  // namespace roofcast
