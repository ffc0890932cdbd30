// Everything that an answer depends on must change the plan's digest.
#include "planner/search/plan_digest.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <set>

namespace roofcast {
namespace {

struct Asked {
  PlanCatalogue catalogue{};
  PlanTask question{};
};

using Change = std::function<void(Asked&)>;

Asked unchanged() {
  Asked asked;
  asked.catalogue.workload.requests.resize(2);
  asked.catalogue.workload.contents = {{.content = 1, .tokens = 16}, {.content = 2, .tokens = 16}};
  asked.catalogue.workload.stages = {{.name = "steady"}};
  asked.catalogue.models[""].layers = {{.mixer = Attention{}, .ffn = DenseFfn{}}};
  asked.catalogue.engines["./ours.json"] = {
      .preset = "vllm-0.19", .profile = EngineProfile{.name = "ours", .preset = "vllm-0.19"}};
  asked.catalogue.gpus["./gpu.json"].hash = "1";
  return asked;
}

/// The digest of each changed plan differs from the unchanged one's and from all others.
void expect_all_differ(const std::vector<Change>& changes) {
  std::set<std::string> digests;
  const auto insert = [&](const Asked& asked) {
    return digests.insert(plan_digest(asked.catalogue, asked.question, {})).second;
  };
  EXPECT_TRUE(insert(unchanged()));
  EXPECT_FALSE(insert(unchanged())) << "equal plans have one digest";
  for (std::size_t i = 0; i < changes.size(); ++i) {
    Asked asked = unchanged();
    changes[i](asked);
    EXPECT_TRUE(insert(asked)) << "change " << i << " goes unseen";
  }
}

Change of_request(std::function<void(Request&)> change) {
  return [change](Asked& asked) { change(asked.catalogue.workload.requests[1]); };
}

Change of_model(std::function<void(Transformer&)> change) {
  return [change](Asked& asked) { change(asked.catalogue.models.at("")); };
}

TEST(PlanDigest, SeesEveryPartOfTheLoad) {
  expect_all_differ({of_request([](Request& one) { one.arrival = 1; }),
                     of_request([](Request& one) { one.input_tokens = 1; }),
                     of_request([](Request& one) { one.output_tokens = 1; }),
                     of_request([](Request& one) { one.slo_class = 1; }),
                     of_request([](Request& one) { one.priority = 1; }),
                     of_request([](Request& one) { one.stage = 1; }),
                     of_request([](Request& one) { one.adapter = 1; }),
                     of_request([](Request& one) { one.follows = 0; }),
                     of_request([](Request& one) { one.contents_begin = 1; }),
                     of_request([](Request& one) { one.contents_count = 1; }),
                     of_request([](Request& one) { one.output_continues_prompt = true; }),
                     [](Asked& asked) { asked.catalogue.workload.stages[0].reported = false; },
                     [](Asked& asked) { asked.catalogue.workload.contents[1].content = 1; },
                     [](Asked& asked) { asked.catalogue.workload.recorded_limit = 1; }});
}

TEST(PlanDigest, SeesWhichPromptASpanBelongsTo) {
  // Spans [A, B] and [C] against [A] and [B, C]: the same spans in the same order.
  Asked two_and_one = unchanged();
  two_and_one.catalogue.workload.contents.push_back({.content = 3, .tokens = 16});
  Asked one_and_two = two_and_one;
  const auto divide = [](Asked& asked, std::uint32_t first) {
    auto& requests = asked.catalogue.workload.requests;
    requests[0].contents_count = first;
    requests[1].contents_begin = first;
    requests[1].contents_count = 3 - first;
  };
  divide(two_and_one, 2);
  divide(one_and_two, 1);
  EXPECT_NE(plan_digest(two_and_one.catalogue, {}, {}), plan_digest(one_and_two.catalogue, {}, {}));
}

TEST(PlanDigest, SeesTheContentOfFilesWhoseNamesStay) {
  expect_all_differ(
      {of_model([](Transformer& model) { model.layers.push_back(model.layers[0]); }),
       of_model(
           [](Transformer& model) { std::get<Attention>(model.layers[0].mixer).kv_heads = 8; }),
       of_model([](Transformer& model) { std::get<DenseFfn>(model.layers[0].ffn).gated = false; }),
       of_model([](Transformer& model) { model.layers[0].ffn_format.bits_per_weight = 8; }),
       of_model([](Transformer& model) { model.checkpoint_bytes = Bytes{1}; }),
       [](Asked& asked) { asked.catalogue.gpus.at("./gpu.json").hash = "2"; },
       [](Asked& asked) {
         asked.catalogue.engines.at("./ours.json").profile->host = {
             {.term = &host_terms()[0], .time = Seconds{1e-3}}};
       }});
}

TEST(PlanDigest, SeesTheBuildAndWhatIsRequired) {
  expect_all_differ({[](Asked& asked) { asked.question.program = "another"; },
                     [](Asked& asked) { asked.question.requirement.min_goodput_share = 0.9; },
                     [](Asked& asked) { asked.catalogue.base.seed = 7; }});
}

}  // namespace
}  // namespace roofcast
