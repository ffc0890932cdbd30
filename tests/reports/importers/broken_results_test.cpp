// Results that are broken, hostile or contradict themselves.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "tests/reports/importers/import_text.hpp"

namespace roofcast::test {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

/// A result of vLLM's benchmark with additional keys.
std::string result_with(const std::string& keys) {
  return R"({"request_throughput":1.0,"num_prompts":4,"total_output_tokens":44,)" + keys + "}";
}

TEST(BrokenResults, GetOneLineThatNamesFileAndKey) {
  struct Case {
    std::string text, message;
  };
  for (const Case& c : std::vector<Case>{
           {"{\"request_throughput\": 1.0,\n\"num_prompts\" 4}", "r.json:2: is not JSON"},
           {result_with(R"("mean_ttft_ms": 1e999)"), "r.json:1: is not JSON at '1e999'"},
           {result_with(R"("mean_ttft_ms": "fast")"),
            "r.json: mean_ttft_ms is 'fast', expected a number"},
           {result_with(R"("mean_ttft_ms": [1])"),
            "r.json: mean_ttft_ms is a list, expected a number"},
           {result_with(R"("tp": 1.5)"), "r.json: tp is 1.5, expected a whole number"},
           {result_with(R"("max_concurrency": -3)"), "max_concurrency is -3"},
           {result_with(R"("backend": 7)"), "backend is 7, expected a string"},
           {result_with(R"("input_lens":[1,2],"output_lens":[1],"ttfts":[1,1])"),
            "output_lens has 1 entries, expected 2"},
           {result_with(R"("input_lens":[1],"output_lens":[1.5],"ttfts":[1])"),
            "output_lens holds 1.5"},
           {result_with(R"("input_lens":[1],"output_lens":[1],"ttfts":["x"])"),
            "ttfts is a list, expected a list of numbers"},
           {result_with(R"("input_lens":[1],"output_lens":[1],"ttfts":[1],"itls":[3])"), "itls is"},
           {"{\"a\":" + std::string(100'000, '['), "nests deeper than 32 levels"},
           {result_with(R"("label":"x")") + "\n7", "r.json, line 2: is not a JSON object"},
           {"[{}, 3]", "of no known format"},
           {"", "of no known format"},
           {std::string("\0\x01\xFF{", 4), "of no known format"},
           {R"({"a": 1})", "of no known format"}}) {
    EXPECT_THAT(import_error(c.text), AllOf(HasSubstr(c.message), Not(HasSubstr("\n"))))
        << c.text.substr(0, 100);
  }
}

TEST(BrokenResults, AFormatThatIsNotKnownIsRefusedWithThoseThatAre) {
  EXPECT_THAT(import_error("{}", {.format = "excel", .meta = {}, .since = ""}),
              AllOf(HasSubstr("unknown format 'excel'"), HasSubstr("vllm-bench-serve")));
}

TEST(BrokenResults, WithAThousandFiguresIsNoResult) {
  std::string keys = R"("label":"x")";
  for (int i = 0; i < 1001; ++i) keys += fmt::format(R"(,"p50.{:04}_ttft_ms":1)", i + 1);
  EXPECT_THAT(import_error(result_with(keys)), HasSubstr("has over 1000 figures"));
}

TEST(Contradictions, OfAResultAreWarnings) {
  struct Case {
    std::string keys, warning;
  };
  for (const Case& c : std::vector<Case>{
           // 50 + 10 x (11 - 1) = 150 ms.
           {R"("completed":4,"mean_ttft_ms":50,"mean_tpot_ms":10,"mean_e2el_ms":300)",
            "mean E2E is 300.0 ms, but TTFT + TPOT x (n - 1) is 150.0 ms"},
           {R"("duration":4,"output_throughput":20)",
            "44 output tokens in 4.00 s are 11.0/s, but the file says 20.0/s"},
           // Little: 1 request/s of 3 s each.
           {R"("mean_e2el_ms":3000,"max_concurrency":2)",
            "3.0 requests in flight on average, but the limit was 2"},
           {R"("completed":3,"failed":0)", "3 completed and 0 failed of 4 requests"},
           {R"("completed":3,"failed":1)", "1 requests failed"},
           {R"("median_ttft_ms":50,"p99_ttft_ms":40)", "ttft_s: p50 is above p99"},
           {R"("request_rate":2)", "saturated: 1.00 of 2.00 requests/s were served"}}) {
    EXPECT_THAT(import_one(result_with(c.keys)).warnings, Contains(HasSubstr(c.warning))) << c.keys;
  }
}

TEST(Contradictions, AreNotFoundWhereFiguresAgree) {
  // 4 requests of 11 tokens in 4 s: 11 tokens/s; 150 ms each, 0.15 in flight.
  EXPECT_THAT(
      import_one(
          result_with(
              R"("completed":4,"failed":0,"duration":4,"output_throughput":11,"mean_ttft_ms":50,
"mean_tpot_ms":10,"mean_e2el_ms":150,"max_concurrency":1,"request_rate":1,"median_ttft_ms":50,
"p99_ttft_ms":50)"))
          .warnings,
      IsEmpty());
}

}  // namespace
}  // namespace roofcast::test
