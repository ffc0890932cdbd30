#include "base/joined.hpp"
#include "base/numbers.hpp"
#include "simulator/workload/generate_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/wording.hpp"

namespace roofcast {
namespace {

/// "10 /s for 60 s, 0 /s for 30 s"; for a long list only the lowest and highest rate.
std::string in_words(const std::vector<RateStage>& stages, std::string_view noun) {
  constexpr std::size_t kListed = 4;
  if (stages.size() <= kListed) {
    return joined(stages, [](const RateStage& stage) { return name_of(stage); });
  }
  const auto [low, high] =
      std::minmax_element(stages.begin(), stages.end(),
                          [](const RateStage& a, const RateStage& b) { return a.rate < b.rate; });
  return fmt::format("{} from {} to {} /s", counted(std::ssize(stages), noun), low->rate,
                     high->rate);
}

struct RateInWords {
  const SyntheticWorkload& spec;

  std::string operator()(const SteadyRate&) const {
    if (std::isinf(spec.request_rate)) return "all at once";
    const std::string rate =
        fmt::format("{} {}{}/s", spec.request_rate, spec.sessions ? "session" : "request",
                    spec.request_rate == 1 ? "" : "s");
    return fmt::format("at {} (burstiness {})", spec.any_rate ? "any rate" : rate, spec.burstiness);
  }
  std::string operator()(const RampUp& ramp) const {
    const bool linear = ramp.strategy == RampUp::Strategy::linear;
    return fmt::format("at {} to {} /s ({} ramp, burstiness {})", ramp.start, ramp.end,
                       linear ? "linear" : "exponential", spec.burstiness);
  }
  std::string operator()(const StagedLoad& load) const {
    return fmt::format("in stages of {} (burstiness {})", in_words(load.stages, "stage"),
                       spec.burstiness);
  }
  std::string operator()(const RateCycle& cycle) const {
    return fmt::format("in a cycle of {} (burstiness {})", in_words(cycle.phases, "phase"),
                       spec.burstiness);
  }
  std::string operator()(const DiurnalRate& rate) const {
    return fmt::format("at {} to {} /s, a cosine of period {}", rate.low, rate.high,
                       as_time(rate.period));
  }
};

std::string sessions_in_words(const Sessions& sessions) {
  std::string text = fmt::format(", {} turns, think time {} s", to_text(sessions.turns),
                                 to_text(sessions.think_time));
  if (sessions.first_input) text += ", first input " + to_text(*sessions.first_input);
  if (sessions.max_session_tokens > 0) {
    text += fmt::format(", at most {}", counted(sessions.max_session_tokens, "token"));
  }
  return text;
}

std::string extras_in_words(const SyntheticWorkload& spec) {
  std::string text;
  if (spec.shared_prefix) {
    text += fmt::format(", system prompt {} ({})", to_text(spec.shared_prefix->system_prompt),
                        counted(spec.shared_prefix->groups, "group"));
  }
  if (spec.sessions) text += sessions_in_words(*spec.sessions);
  if (spec.lora.count > 0) {
    text += fmt::format(", {} LoRA adapters ({})", spec.lora.count,
                        spec.lora.zipf > 0 ? fmt::format("Zipf {}", spec.lora.zipf) : "uniform");
  }
  if (spec.images.count > 0) {
    text += fmt::format(", {} of {} each", counted(spec.images.count, "image"),
                        counted(spec.images.tokens, "token"));
  }
  if (spec.num_warmups > 0) text += fmt::format(", the first {} to warm up", spec.num_warmups);
  return text;
}

}  // namespace

std::string describe(const SyntheticWorkload& spec, std::int64_t arrivals, std::int64_t requests) {
  const std::string what = spec.sessions ? fmt::format("{} ({})", counted(arrivals, "session"),
                                                       counted(requests, "request"))
                                         : counted(requests, "request");
  return fmt::format("synthetic: {} {}, input {}, output {}{}", what,
                     std::visit(RateInWords{spec}, spec.pattern), to_text(spec.input),
                     to_text(spec.output), extras_in_words(spec));
}

}  // namespace roofcast
