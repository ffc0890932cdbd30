// Every row of the knob table, in all places where a knob appears: flag, scenario file, schema,
// completion, what-if, the web page, and engines that lack it.
#include "model/engines/knobs.hpp"
#include "model/engines/idle_knobs.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <type_traits>

#include "base/error.hpp"
#include "cli/options/option_groups.hpp"
#include "cli/shell/option_values.hpp"
#include "cli/shell/program_facts.hpp"
#include "planner/vary/vary_scenario.hpp"
#include "serve/questions.hpp"
#include "simulator/deployment_options.hpp"
#include "simulator/io/engine_options.hpp"
#include "simulator/io/scenario_reader.hpp"
#include "tests/model/deployments.hpp"
#include "tests/support/shapes.hpp"
#include "tests/support/trials.hpp"

namespace roofcast::test {
namespace {

using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::Not;

/// A value as typed after a flag.
std::string typed(const KnobValue& value) {
  if (const auto* on = std::get_if<bool>(&value)) return *on ? "on" : "off";
  if (const auto* list = std::get_if<std::vector<double>>(&value)) {
    return fmt::format("{}", fmt::join(*list, ","));
  }
  if (const auto* list = std::get_if<std::vector<std::int64_t>>(&value)) {
    return fmt::format("{}", fmt::join(*list, ","));
  }
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* count = std::get_if<std::int64_t>(&value)) return fmt::format("{}", *count);
  return fmt::format("{}", std::get<double>(value));
}

/// The overrides that result from one argument.
EngineOverrides parsed(const std::string& argument) {
  DeploymentOptions target;
  po::options_description options = engine_options(target);
  options.add(scheduler_options(target)).add(feature_options(target.overrides));
  po::variables_map values;
  po::store(po::command_line_parser(normalise({argument}, options)).options(options).run(), values);
  po::notify(values);
  return target.overrides;
}

EngineOverrides read_back(const EngineOverrides& overrides) {
  const nlohmann::json json = nlohmann::json::parse(engine_options_json(overrides).dump());
  return read_engine_options(JsonObject(json, "a scenario", "", engine_option_keys()));
}

/// The error of an engine started with one knob; empty if it starts.
std::string refusal(const std::string& preset, const EngineKnob& knob, const KnobValue& value) {
  EngineOverrides overrides;
  EXPECT_TRUE(knob.set(overrides, value)) << knob.key;
  try {
    resolve_engine(preset, overrides, llama_3_1_8b(), h100(), {});
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(EngineKnobs, EachHasItsWordsAndAValue) {
  std::set<std::string> names;
  for (const EngineKnob& knob : engine_knobs()) {
    SCOPED_TRACE(knob.key);
    EXPECT_TRUE(names.insert(std::string(knob.flag)).second);
    EXPECT_STRNE(knob.help, "");
    EXPECT_STRNE(knob.effect, "");
    EXPECT_FALSE(knob.examples.empty());
    EXPECT_EQ(find_knob_by_flag(knob.flag), &knob);
    EXPECT_EQ(find_knob_by_key(knob.key), &knob);
    EXPECT_TRUE(*knob.partner == '\0' || find_knob_by_flag(knob.partner) != nullptr);
    EXPECT_EQ(knob.choice.names.empty(), knob.kind != KnobKind::choice);
    EXPECT_FALSE(knob.get(EngineOverrides{}));
  }
}

TEST(EngineKnobs, GoFromAFlagThroughAScenarioFileAndStayTheSame) {
  for (const EngineKnob& knob : engine_knobs()) {
    std::vector<std::string> flags(knob.aliases.begin(), knob.aliases.end());
    flags.push_back("--" + std::string(knob.flag));
    for (const std::string& flag : flags) {
      for (const KnobValue& value : knob.examples) {
        SCOPED_TRACE(flag + "=" + typed(value));
        const EngineOverrides given = parsed(flag + "=" + typed(value));
        EXPECT_EQ(knob.get(given), value);
        EXPECT_EQ(knob.get(read_back(given)), value);
        EngineOverrides taken;
        take_overrides(taken, given);
        EXPECT_EQ(knob.get(taken), value);
        // It, and no other knob.
        EXPECT_EQ(engine_options_json(given).size(), 1U);
        EXPECT_TRUE(engine_options_json(given).contains(knob.key));
      }
    }
  }
}

TEST(EngineKnobs, AListIsTypedWithBracketsOrWithoutThem) {
  using Counts = std::vector<std::int64_t>;
  for (const char* text : {"128,131072", "[128,131072]", "[ 128, 131072 ]", "[128,131072] "}) {
    EXPECT_EQ(parsed(std::string("--max-attention-window=") + text).max_attention_window,
              (Counts{128, 131072}))
        << text;
  }
  EXPECT_EQ(parsed("--max-attention-window=[16k]").max_attention_window, Counts{16'000});
  EXPECT_EQ(parsed("--acceptance-by-position=[0.8, 60%]").acceptance_by_position,
            (std::vector<double>{0.8, 0.6}));
}

TEST(EngineKnobs, ABrokenListIsRefusedWithTheReason) {
  const auto refusal_of = [](const std::string& text) -> std::string {
    try {
      (void)parsed("--max-attention-window=" + text);
    } catch (const std::exception& error) {
      return error.what();
    }
    return "";
  };
  const auto because = [](const std::string& text, const std::string& why) {
    return HasSubstr("'" + text + "' " + why + ", expected A,B,... or [A,B,...]");
  };
  for (const char* text : {"[128,131072", "["}) {
    EXPECT_THAT(refusal_of(text), because(text, "has a bracket that is not closed"));
  }
  for (const char* text : {"128,131072]", "]"}) {
    EXPECT_THAT(refusal_of(text), because(text, "has a bracket that is not opened"));
  }
  for (const char* text : {"[[128],131072]", "[128],[131072]", "[128],131072]"}) {
    EXPECT_THAT(refusal_of(text), because(text, "has a list within a list"));
  }
  for (const char* text : {"[]", "[ ]"}) {
    EXPECT_THAT(refusal_of(text), because(text, "is an empty list"));
  }
  for (const char* text : {"[128,]", "128,,131072", ",128", "128,"}) {
    EXPECT_THAT(refusal_of(text), because(text, "has an empty value"));
  }
  EXPECT_THAT(refusal_of("[128,wide]"), HasSubstr("'wide' is not a whole number"));
}

TEST(EngineKnobs, EveryNameOfAChoiceIsReadAndWritten) {
  for (const EngineKnob& knob : engine_knobs()) {
    for (const std::string_view name : knob.choice.names) {
      const KnobValue value = std::string(name);
      EngineOverrides overrides;
      EXPECT_TRUE(knob.set(overrides, value)) << knob.key << ' ' << name;
      EXPECT_EQ(knob.get(overrides), value);
    }
    EngineOverrides untouched;
    EXPECT_FALSE(knob.set(untouched, "no such name")) << knob.key;
    EXPECT_FALSE(knob.get(untouched)) << knob.key;
  }
}

TEST(EngineKnobs, OfIdleRulesExist) {
  for (const std::string_view key : keys_with_idle_rules()) {
    EXPECT_NE(find_knob_by_key(key), nullptr) << key;
  }
}

TEST(EngineKnobs, AreInTheSchemaOfScenarios) {
  std::ifstream file(ROOFCAST_SOURCE_DIR "/simulator/io/scenario.schema.json");
  const auto options = nlohmann::json::parse(file)["properties"]["engine_options"]["properties"];
  EXPECT_EQ(options.size(), engine_knobs().size());
  for (const EngineKnob& knob : engine_knobs()) {
    ASSERT_TRUE(options.contains(knob.key)) << knob.key;
    EXPECT_EQ(options[knob.key]["description"], knob.effect);
  }
}

TEST(EngineKnobs, AreOfferedByCompletionAndListedByTheManual) {
  const auto commands = program_facts();
  const auto simulate = std::ranges::find(commands, std::string("simulate"), &CommandFacts::name);
  ASSERT_NE(simulate, commands.end());
  for (const EngineKnob& knob : engine_knobs()) {
    SCOPED_TRACE(knob.key);
    const auto option =
        std::ranges::find(simulate->options, std::string(knob.flag), &OptionFacts::name);
    ASSERT_NE(option, simulate->options.end());
    EXPECT_EQ(option->help, knob.help);
    EXPECT_EQ(option->aliases, std::vector<std::string>(knob.aliases.begin(), knob.aliases.end()));
    EXPECT_EQ(option->needs_value, knob.kind != KnobKind::on_off);
    EXPECT_THAT(option_values(std::string(knob.flag)), IsSupersetOf(knob.choice.names));
  }
}

TEST(EngineKnobs, OutsideItsRangeIsRefusedByEngineAndScenarioFile) {
  const auto check = [](const EngineKnob& knob, double number) {
    KnobValue value = number;
    if (knob.kind == KnobKind::count || knob.kind == KnobKind::length) {
      value = static_cast<std::int64_t>(number);
    }
    SCOPED_TRACE(fmt::format("{} {}", knob.key, number));
    EXPECT_THAT(refusal("vllm-0.19", knob, value), HasSubstr(knob_name(knob) + ": "));
    EngineOverrides overrides;
    knob.set(overrides, value);
    EXPECT_THROW(read_back(overrides), Error);
  };
  int checked = 0;
  for (const EngineKnob& knob : engine_knobs()) {
    if (!number_in(knob.examples.front())) continue;
    ++checked;
    EXPECT_TRUE(contains(knob.range, *number_in(knob.examples.front()))) << knob.key;
    check(knob, knob.range.min_open ? knob.range.min : knob.range.min - 1);
    if (std::isfinite(knob.range.max)) {
      check(knob, knob.range.max_open ? knob.range.max : knob.range.max + 1);
    }
  }
  EXPECT_GT(checked, 20);
}

// The largest number of 64 bits, which a double rounds up to 2^63.
TEST(EngineKnobs, ACountInAListThatIsTooLargeIsNamedAsItWasGiven) {
  const std::string most = "9223372036854775807";
  EXPECT_EQ(most, std::to_string(std::numeric_limits<std::int64_t>::max()));
  const auto error = [&](const std::string& engine, const std::string& argument) -> std::string {
    try {
      resolve_engine(engine, parsed(argument + most), llama_3_1_8b(), h100(), {});
    } catch (const Error& refused) {
      return refused.what();
    }
    return "";
  };
  EXPECT_EQ(error("trtllm", "--max-attention-window=128,"),
            "`max_attention_window`: " + most + " given, expected 1 to 2147483647");
  EXPECT_EQ(error("vllm", "--cuda-graph-batch-sizes=1,"),
            "`cuda_graph_batch_sizes`: " + most + " given, expected 1 to 65536");
}

TEST(EngineKnobs, AreRefusedByEnginesThatDoNotHaveThem) {
  int refused = 0;
  for (const EngineKnob& knob : engine_knobs()) {
    for (const EnginePreset& preset : engine_presets()) {
      SCOPED_TRACE(preset.name + " " + knob.key);
      const std::string message = refusal(preset.name, knob, knob.examples.front());
      const std::string complaint = knob_name(knob) + ": not supported by " + preset.name;
      if (owns(knob.owner, preset.defaults.scheduler, preset.defaults.memory_rule)) {
        EXPECT_THAT(message, Not(HasSubstr(complaint)));
      } else {
        EXPECT_THAT(message, HasSubstr(complaint + ", expected " + engines_of(knob.owner)));
        ++refused;
      }
    }
  }
  EXPECT_GT(refused, 50);
}

TEST(EngineKnobs, AreNothingWithoutThePartnerThatSwitchesThemOn) {
  for (const EngineKnob& knob : engine_knobs()) {
    if (*knob.partner == '\0') continue;
    const auto has_it = [&](const EnginePreset& preset) {
      return owns(knob.owner, preset.defaults.scheduler, preset.defaults.memory_rule);
    };
    const auto preset = std::ranges::find_if(engine_presets(), has_it);
    ASSERT_NE(preset, engine_presets().end()) << knob.key;
    EXPECT_THAT(refusal(preset->name, knob, knob.examples.front()),
                HasSubstr(knob_name(knob) + ": requires "))
        << knob.key;
  }
}

TEST(EngineKnobs, CanBeVariedAndAskedForByTheWebPage) {
  Scenario scenario;
  scenario.deployment.model = "llama-3.1-8b";
  scenario.deployment.gpu = "h100";
  int knobs = 0;
  for (const EngineKnob& knob : engine_knobs()) {
    if (kSanitised && knobs++ % 5 != 0) continue;
    SCOPED_TRACE(knob.key);
    const std::string text = typed(knob.examples.front());
    const Scenario varied = with_settings(scenario, {{std::string(knob.flag), text}});
    EXPECT_EQ(knob.get(varied.deployment.overrides), knob.examples.front());
    // Where all of them act: experts on several ranks, picked unevenly.
    Json question = {{"model", "qwen3-30b-a3b"},
                     {"gpu", "h100"},
                     {"data-parallel-size", 2},
                     {"enable-expert-parallel", true},
                     {"expert-power-law", 1.1}};
    if (std::string_view(knob.key) == "limit_mm_per_prompt") {  // of a model that takes images
      question = {{"model", "qwen3-vl-8b"}, {"gpu", "h100"}};
    }
    if (std::string_view(knob.key) == "host_memory_bytes") {  // where something is kept there
      question["kv-offloading-size"] = "8GiB";
    }
    question[std::string(knob.flag)] = text;
    if (std::string_view(knob.key) == "scheduling_policy") {  // no request here has a priority
      EXPECT_THROW((void)asked_simulation(question, {}), UsageError);
      continue;
    }
    const AskedSimulation asked = asked_simulation(question, {});
    EXPECT_EQ(knob.get(asked.question.scenario.deployment.overrides), knob.examples.front());
    EXPECT_THAT(asked.command_line, HasSubstr("--" + std::string(knob.flag) + "=" + text));
  }
}

TEST(EngineKnobs, AChangeGoesFromWhatIsSetOrFromTheEnginesDefault) {
  Scenario scenario;
  scenario.deployment.model = "llama-3.1-8b";
  scenario.deployment.gpu = "h100";
  // vLLM on an H100: 1024 sequences (model/engines/vllm.cpp, resolve_vllm_batch).
  EXPECT_EQ(with_settings(scenario, {{"max_num_seqs", "*2"}}).deployment.overrides.max_num_seqs,
            2048);
  scenario.deployment.overrides.max_num_seqs = 10;
  EXPECT_EQ(with_settings(scenario, {{"max_num_seqs", "+5"}}).deployment.overrides.max_num_seqs,
            15);
  scenario.deployment.overrides.lora_step_time = Seconds{0.5};
  EXPECT_EQ(with_settings(scenario, {{"lora_step_time", "*3"}})
                .deployment.overrides.lora_step_time->value,
            1.5);
  // A scenario reads back what a flag of nothing set.
  scenario.deployment.overrides = parsed("--overhead=0");
  EXPECT_EQ(parse_scenario(to_json(scenario), "s.json").deployment.overrides.overhead, Bytes{0});
}

TEST(Degrees, EachHasAFlagThatIsLaidOverTheScenariosDegrees) {
  visit_degrees([](std::string_view name, auto degree, auto option) {
    using Value = std::remove_cvref_t<decltype(Parallelism{}.*degree)>;
    constexpr bool kIsSwitch = std::is_same_v<Value, bool>;
    const auto* flag = find_flag(machine_flags(), name);
    ASSERT_NE(flag, nullptr) << name;
    DeploymentOptions given;
    flag->read(given, kIsSwitch ? "on" : "2", "");
    EXPECT_EQ(given.parallel.*option, static_cast<Value>(kIsSwitch ? 1 : 2)) << name;
    EXPECT_EQ(first_given(given.parallel), name);
    Parallelism expected{.tensor = 4, .pipeline = 4, .data = 4};
    const Parallelism laid_over = with_given(expected, given.parallel);
    EXPECT_NE(laid_over, expected) << name;
    expected.*degree = *(given.parallel.*option);
    EXPECT_EQ(laid_over, expected) << name;  // the other degrees stay
  });
  EXPECT_EQ(first_given(ParallelismOptions{}), "");
}

}  // namespace
}  // namespace roofcast::test
