#include "reports/pages/limits_section.hpp"

#include <fmt/format.h>

#include <array>

#include "base/numbers.hpp"
#include "base/wording.hpp"

namespace roofcast {
namespace {

struct LimitWords {
  const char* title;
  const char* wider;  // what is increased
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

/// A knob's value if all pools share it.
std::string value_text(const std::optional<std::int64_t>& value) {
  return value ? with_separators(*value) : "its limit";
}

std::string use_in_words(const LimitsAnswer& limits, const LimitAnswer& limit) {
  const std::string share = as_percent(limit.used_share);
  switch (limit.limit) {
    case LimitKind::kv_memory:
      return fmt::format("peak: {} of the blocks, {}", share,
                         counted(limits.preemptions, "preemption"));
    case LimitKind::token_budget:
      return fmt::format("{} of step time at {} tokens", share,
                         value_text(limits.max_num_batched_tokens));
    case LimitKind::max_num_seqs:
      return fmt::format("{} of step time at {} sequences", share, value_text(limits.max_num_seqs));
    case LimitKind::queueing:
      return share + " of mean TTFT is queueing";
    default:
      return share + " of step time";
  }
}

std::string binding_line(const LimitsAnswer& limits) {
  if (!limits.binding) {
    return fmt::format("No single limit binds: 10 % more of any changes {} by less than 1 %.",
                       limits.yardstick);
  }
  for (const LimitAnswer& limit : limits.limits) {
    if (limit.limit != *limits.binding) continue;
    return fmt::format("The binding limit is {}. With {}, {} changes by {}.",
                       words_of(limit.limit).title, words_of(limit.limit).wider, limits.yardstick,
                       gain_text(limit.relative_gain));
  }
  return {};
}

std::string shares_text(const std::vector<PoolUtilisation>& pools, double PoolUtilisation::*share) {
  std::string text;
  for (const PoolUtilisation& pool : pools) {
    text += (text.empty() ? "" : ", ") + as_percent(pool.*share);
  }
  return text.empty() ? "-" : text;
}

}  // namespace

std::string mfu_text(const std::vector<PoolUtilisation>& pools) {
  return shares_text(pools, &PoolUtilisation::mfu);
}

std::string mbu_text(const std::vector<PoolUtilisation>& pools) {
  return shares_text(pools, &PoolUtilisation::mbu);
}

std::string utilisation_line(const std::vector<PoolUtilisation>& pools) {
  std::string line = "While a step is in progress, ";
  for (std::size_t i = 0; i < pools.size(); ++i) {
    if (i > 0) line += "; ";
    if (pools.size() > 1) line += fmt::format("in pool {} ", pools[i].pool);
    line += fmt::format("{} of the FLOP/s are used (MFU) and {} of the memory bandwidth (MBU)",
                        as_percent(pools[i].mfu), as_percent(pools[i].mbu));
  }
  return line + ".";
}

std::string gain_text(double gain) {
  const std::string digits = fixed(-100 * gain, 1);
  return (gain < 0 && digits != "0.0" ? "+" : "") + digits + " %";
}

std::string title_of(LimitKind kind) { return words_of(kind).title; }

Section limits_section(const LimitsAnswer& limits) {
  Section section{.heading = "Limits",
                  .lines = {binding_line(limits)},
                  .table = {.title = "",
                            .columns = {{"Limit", false},
                                        {"Used", false},
                                        {"Relaxed", false},
                                        {limits.yardstick},
                                        {"Change"}},
                            .rows = {}}};
  section.table.rows.push_back({"", "", "unchanged", as_time(Seconds{limits.as_is_s}), ""});
  for (const LimitAnswer& limit : limits.limits) {
    const LimitWords& words = words_of(limit.limit);
    section.table.rows.push_back({words.title, use_in_words(limits, limit), words.wider,
                                  as_time(Seconds{limit.relaxed_s}),
                                  gain_text(limit.relative_gain)});
  }
  return section;
}

}  // namespace roofcast
