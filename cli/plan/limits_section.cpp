#include "cli/plan/limits_section.hpp"

#include <fmt/format.h>

#include <array>

#include "base/numbers.hpp"
#include "base/wording.hpp"

namespace roofcast {
namespace {

struct LimitWords {
  const char* title;
  const char* wider;  // what is changed
};

constexpr std::array<LimitWords, 8> kWords = {{{"KV memory", "10 % more KV blocks"},
                                               {"token budget", "10 % more tokens a step"},
                                               {"max_num_seqs", "10 % more sequences at once"},
                                               {"compute", "10 % more FLOP/s"},
                                               {"memory bandwidth", "10 % more bandwidth"},
                                               {"interconnect", "10 % faster links"},
                                               {"host", "host 10 % faster"},
                                               {"queueing", "evenly spaced arrivals"}}};

const LimitWords& words_of(LimitKind kind) { return kWords[static_cast<std::size_t>(kind)]; }

/// A knob's value where all pools have the same.
std::string common_value(std::span<const PoolRun> pools, std::int64_t Engine::*knob) {
  const std::int64_t value = pools.front().deployment.engine.*knob;
  for (const PoolRun& pool : pools) {
    if (pool.deployment.engine.*knob != value) return "its limit";
  }
  return with_separators(value);
}

std::string use_in_words(const LimitReport& report, const LimitUse& use,
                         std::span<const PoolRun> pools) {
  const std::string share = as_percent(use.share);
  switch (use.kind) {
    case LimitKind::kv_memory:
      return fmt::format("{} of the blocks at the peak, {}", share,
                         counted(report.use.preemptions, "preemption"));
    case LimitKind::token_budget:
      return fmt::format("{} of step time at {} tokens", share,
                         common_value(pools, &Engine::max_num_batched_tokens));
    case LimitKind::max_num_seqs:
      return fmt::format("{} of step time at {} sequences", share,
                         common_value(pools, &Engine::max_num_seqs));
    case LimitKind::queueing:
      return share + " of mean TTFT is waiting";
    default:
      return share + " of step time";
  }
}

std::string binding_line(const LimitReport& report) {
  if (!report.binding) {
    return fmt::format("No limit binds by itself: a tenth more of any changes {} by less than 1 %.",
                       yardstick_title(report));
  }
  const LimitKind kind = *report.binding;
  for (const LimitGain& gain : report.gains) {
    if (gain.use.kind != kind) continue;
    return fmt::format("What binds: {}. With {} {} changes by {}.", words_of(kind).title,
                       words_of(kind).wider, yardstick_title(report), gain_text(gain.gain));
  }
  return {};
}

}  // namespace

std::string gain_text(double gain) {
  const std::string digits = fixed(-100 * gain, 1);
  return (gain < 0 && digits != "0.0" ? "+" : "") + digits + " %";
}

std::string title_of(LimitKind kind) { return words_of(kind).title; }

std::string yardstick_title(const LimitReport& report) {
  if (!report.target) return "mean E2E";
  std::string metric(name_of(report.target->target.metric));
  for (char& letter : metric) {
    if (letter >= 'a' && letter <= 'z') letter = static_cast<char>(letter - 'a' + 'A');
  }
  return fmt::format("p{:g} {}", report.target->target.percentile, metric);
}

Section limits_section(const LimitReport& report, std::span<const PoolRun> pools) {
  const std::string yardstick = yardstick_title(report);
  Section section{.heading = "Limits",
                  .lines = {binding_line(report)},
                  .table = {.title = "",
                            .columns = {{"Limit", false},
                                        {"Used", false},
                                        {"Relaxed", false},
                                        {yardstick},
                                        {"Change"}},
                            .rows = {}}};
  section.table.rows.push_back({"", "", "as it is", as_time(Seconds{report.as_is_s}), ""});
  for (const LimitGain& gain : report.gains) {
    const LimitWords& words = words_of(gain.use.kind);
    section.table.rows.push_back({words.title, use_in_words(report, gain.use, pools), words.wider,
                                  as_time(Seconds{gain.relaxed_s}), gain_text(gain.gain)});
  }
  return section;
}

Json limits_json(const LimitReport& report) {
  Json json = {{"yardstick", yardstick_title(report)},
               {"as_is_s", report.as_is_s},
               {"binding", report.binding ? Json(name_of(*report.binding)) : Json(nullptr)}};
  json["limits"] = Json::array();
  for (const LimitGain& gain : report.gains) {
    json["limits"].push_back({{"limit", name_of(gain.use.kind)},
                              {"used_share", gain.use.share},
                              {"relaxed_s", gain.relaxed_s},
                              {"relative_gain", gain.gain}});
  }
  return json;
}

}  // namespace roofcast
