#include "model/io/engine_profile.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/error.hpp"

namespace roofcast {
namespace {

using ::testing::HasSubstr;

const std::string kText = R"({
  "schema_version": 1, "kind": "engine", "name": "our-vllm", "preset": "vllm-0.19",
  "host": {"per_request_s": 0.006, "graph_launch_s": 0.0004},
  "source": "three runs of May", "median_error": 0.021
})";

std::string message_of(const std::string& text) {
  try {
    parse_engine_profile(text, "mine.json");
  } catch (const Error& error) {
    return error.what();
  }
  return "read without an error";
}

TEST(EngineProfile, SetsTheTermsThatItNamesAndNoOthers) {
  const EngineProfile profile = parse_engine_profile(kText, "mine.json");
  EXPECT_EQ(profile.preset, "vllm-0.19");
  Engine engine{.name = "vllm-0.19"};
  const HostOverhead before = engine.host;
  engine = with_profile(engine, profile, {});
  EXPECT_EQ(engine.name, "our-vllm");
  EXPECT_EQ(engine.host.per_request.value, 0.006);
  EXPECT_EQ(engine.host.graph_launch.value, 0.0004);
  EXPECT_EQ(engine.host.step_base, before.step_base);
  EXPECT_EQ(engine.host.per_sequence, before.per_sequence);
  EXPECT_EQ(engine.host.source, "three runs of May");
}

TEST(EngineProfile, TokenisesNoTokenIds) {
  std::string text = kText;
  text.replace(text.find("graph_launch_s"), 14, "per_prompt_token_s");
  const EngineProfile profile = parse_engine_profile(text, "mine.json");
  EXPECT_EQ(with_profile({}, profile, {}).host.per_prompt_token.value, 0.0004);
  const Engine spared = with_profile({}, profile, {.skip_tokenizer_init = true});
  EXPECT_EQ(spared.host.per_prompt_token.value, 0);
  EXPECT_EQ(spared.host.per_request.value, 0.006);
}

TEST(EngineProfile, IsReadBackAsItWasWritten) {
  const std::string written = write_engine_profile(parse_engine_profile(kText, "mine.json"));
  const EngineProfile again = parse_engine_profile(written, "again.json");
  EXPECT_EQ(write_engine_profile(again), written);
  EXPECT_EQ(again.name, "our-vllm");
  EXPECT_EQ(again.host.size(), 2U);
  EXPECT_EQ(again.median_error, 0.021);
}

TEST(EngineProfile, ReadsTheFormerKeyOfThePreset) {
  std::string former = kText;
  former.replace(former.find("preset"), 6, "era");
  EXPECT_EQ(parse_engine_profile(former, "mine.json").preset, "vllm-0.19");
}

TEST(EngineProfile, SaysInOneLineWhatIsWrong) {
  EXPECT_THAT(message_of("{"), HasSubstr("engine profile mine.json: line 1: is not JSON"));
  EXPECT_THAT(message_of("[]"), HasSubstr("must be a single JSON object"));
  EXPECT_THAT(message_of(R"({"schema_version": 2})"), HasSubstr("schema_version"));
  EXPECT_THAT(message_of(R"({"schema_version": 1, "kind": "gpu"})"), HasSubstr("kind"));
  const std::string start = R"({"schema_version": 1, "kind": "engine", "name": "a", "preset": "b")";
  EXPECT_THAT(message_of(start + "}"), HasSubstr("host: is missing"));
  EXPECT_THAT(message_of(start + R"(, "host": {"step_bse_s": 1}})"), HasSubstr("step_base_s"));
  EXPECT_THAT(message_of(start + R"(, "host": {"step_base_s": -1}})"),
              HasSubstr("host.step_base_s"));
  EXPECT_THAT(message_of(start + R"(, "host": {"step_base_s": "1 ms"}})"),
              HasSubstr("host.step_base_s"));
}

TEST(EngineProfile, APresetsNameIsNotAPath) {
  EXPECT_FALSE(is_engine_profile_path("vllm-0.19"));
  EXPECT_TRUE(is_engine_profile_path("mine.json"));
  EXPECT_TRUE(is_engine_profile_path("engines/mine"));
}

}  // namespace
}  // namespace roofcast
