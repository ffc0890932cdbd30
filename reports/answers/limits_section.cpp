#include "reports/answers/limits_section.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>

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
    case LimitKind::host:
      if (!limits.tokenizer_share) return share + " of step time";
      return fmt::format("{} of step time; {} of mean TTFT is waiting for the tokeniser", share,
                         as_percent(*limits.tokenizer_share));
    default:
      return share + " of step time";
  }
}

/// Whether the host binds because prompts wait for each other to be tokenised.
bool binds_tokenizer(const LimitsAnswer& limits) {
  constexpr double kMost = 0.5;  // of the mean TTFT
  return limits.binding == LimitKind::host && limits.tokenizer_share.value_or(0) >= kMost;
}

std::string binding_line(const LimitsAnswer& limits) {
  if (!limits.binding) {
    return fmt::format("No single limit binds: 10 % more of any changes {} by less than 1 %.",
                       limits.yardstick);
  }
  const LimitAnswer& first = limits.limits.front();
  for (const LimitAnswer& limit : limits.limits) {
    if (limit.limit != *limits.binding) continue;
    if (limit.limit == LimitKind::queueing && first.limit != LimitKind::queueing &&
        first.relative_gain > 0) {
      return fmt::format(
          "Waiting is what binds: {} of the mean TTFT is queueing. Of the limits behind it, {} "
          "matters most: with {}, {} changes by {}.",
          as_percent(limit.used_share), words_of(first.limit).title, words_of(first.limit).wider,
          limits.yardstick, gain_cell(first.relative_gain).text);
    }
    if (binds_tokenizer(limits)) {
      return fmt::format(
          "The binding limit is tokenising prompts, one process a server: {} of the mean TTFT is "
          "waiting for it. With {}, {} changes by {}; prompts sent as token ids "
          "(--skip-tokenizer-init) remove it, more replicas share it.",
          as_percent(*limits.tokenizer_share), words_of(limit.limit).wider, limits.yardstick,
          gain_cell(limit.relative_gain).text);
    }
    return fmt::format("The binding limit is {}. With {}, {} changes by {}.",
                       words_of(limit.limit).title, words_of(limit.limit).wider, limits.yardstick,
                       gain_cell(limit.relative_gain).text);
  }
  return {};
}

constexpr double kHalfCent = 0.005;  // per hour: prints as $0.00

/// Dollars per hour that the change adds to the price; unset if a price is unknown.
std::optional<double> added_price(const AdviceAnswer& advice, const AdvisedChange& change) {
  if (!advice.dollars_per_hour || !change.dollars_per_hour) return std::nullopt;
  return *change.dollars_per_hour - *advice.dollars_per_hour;
}

bool is_free(const AdviceAnswer& advice, const AdvisedChange& change) {
  const std::optional<double> more = added_price(advice, change);
  return more && std::abs(*more) < kHalfCent;
}

/// "for $4.50 per hour more", "at no cost".
std::string price_of(const AdviceAnswer& advice, const AdvisedChange& change) {
  const std::optional<double> more = added_price(advice, change);
  if (!more) return "at an unknown price";
  if (is_free(advice, change)) return "at no cost";
  return fmt::format("for ${} per hour {}", fixed(std::abs(*more), 2), *more > 0 ? "more" : "less");
}

std::string in_words(const LimitsAnswer& limits, const AdvisedChange& change) {
  return fmt::format("{} ({}) changes {} by {}", change.change, change.flags, limits.yardstick,
                     gain_cell(change.relative_gain.value_or(0)).text);
}

bool is_noticeable(const AdvisedChange& one) {
  return one.relative_gain.value_or(0) >= kNoticeableGain;
}

/// Without an SLO the mean E2E latency is compared, and to meet it is to keep up with the load.
bool has_slo(const LimitsAnswer& limits) { return limits.limit_s.has_value(); }

bool meets(const AdvisedChange& one) { return one.slo == SloOutcome::met; }

/// The change that helps most and the one that helps most among those that cost nothing, of changes
/// that are worth making. `allowed`: whether a change may be recommended at all.
template <class Allowed>
std::vector<std::string> best_lines(const LimitsAnswer& limits, const Allowed& allowed) {
  const AdviceAnswer& advice = *limits.advice;
  const auto helps = [&](const AdvisedChange& one) { return is_noticeable(one) && allowed(one); };
  const auto first = std::ranges::find_if(advice.changes, helps);
  if (first == advice.changes.end()) return {};
  std::vector<std::string> lines{
      fmt::format("Helps most: {}, {}.", in_words(limits, *first), price_of(advice, *first))};
  const auto free = std::ranges::find_if(
      advice.changes, [&](const AdvisedChange& one) { return helps(one) && is_free(advice, one); });
  if (free != advice.changes.end() && free != first) {
    lines.push_back("Helps most at no cost: " + in_words(limits, *free) + ".");
  }
  return lines;
}

bool changes_format(const AdvisedChange& one) { return one.change.starts_with("8-bit"); }

/// The cheapest change that meets the SLO where it is not met, and if that is another number
/// format, the cheapest that is none; empty if there is none.
std::vector<std::string> cure_lines(const LimitsAnswer& limits) {
  const AdviceAnswer& advice = *limits.advice;
  const auto price = [](const AdvisedChange& of) {
    return of.dollars_per_hour.value_or(std::numeric_limits<double>::infinity());
  };
  const auto cheapest = [&](bool any_format) -> const AdvisedChange* {
    const AdvisedChange* best = nullptr;
    for (const AdvisedChange& one : advice.changes) {
      if (!meets(one) || (changes_format(one) && !any_format)) continue;
      // A change that only makes an undecided verdict final does not count as a cure.
      if (advice.slo == SloOutcome::undecided && !is_noticeable(one)) continue;
      if (best == nullptr || price(one) < price(*best)) best = &one;
    }
    return best;
  };
  const AdvisedChange* first = cheapest(true);
  if (first == nullptr) return {};
  std::vector<std::string> lines{
      fmt::format("{} at the lowest price: {}, {}.",
                  has_slo(limits) ? "Meets the SLO" : "Keeps up with the load",
                  in_words(limits, *first), price_of(advice, *first))};
  const AdvisedChange* same_formats = changes_format(*first) ? cheapest(false) : nullptr;
  if (same_formats != nullptr) {
    lines.push_back(fmt::format("In the same number formats: {}, {}.",
                                in_words(limits, *same_formats), price_of(advice, *same_formats)));
  }
  return lines;
}

std::vector<std::string> advice_lines(const LimitsAnswer& limits) {
  const AdviceAnswer& advice = *limits.advice;
  std::vector<std::string> lines;
  if (advice.slo == SloOutcome::met) {
    lines = best_lines(limits, meets);
    if (lines.empty()) {
      lines.push_back(fmt::format("None of the changes tried improves {} by 1 %{}.",
                                  limits.yardstick,
                                  has_slo(limits) ? " and still meets the SLO" : ""));
    }
  } else if (lines = cure_lines(limits); lines.empty()) {
    const char* goal = has_slo(limits) ? "meets the SLO" : "keeps up with the load";
    const bool is_open = std::ranges::any_of(
        advice.changes, [](const AdvisedChange& one) { return one.slo == SloOutcome::undecided; });
    lines.push_back(is_open ? fmt::format("The requests are too few to say which change {}.", goal)
                            : fmt::format("None of the changes tried {} by itself.", goal));
    const auto closer =
        best_lines(limits, [](const AdvisedChange& one) { return one.relative_gain.has_value(); });
    lines.insert(lines.end(), closer.begin(), closer.end());
  }
  const bool other_formats = std::ranges::any_of(advice.changes, [](const AdvisedChange& one) {
    return changes_format(one) && is_noticeable(one);
  });
  if (other_formats) {
    lines.emplace_back("Number formats are compared by speed alone; they may change the answers.");
  }
  return lines;
}

/// The first pool's share, with the others' behind it.
Cell share_cell(const std::vector<PoolUtilisation>& pools, double PoolUtilisation::*share) {
  if (pools.empty()) return "-";
  std::string others;
  for (std::size_t i = 1; i < pools.size(); ++i) others += ", " + as_percent(pools[i].*share);
  return followed(printed::percent(pools.front().*share), others);
}

}  // namespace

Cell mfu_cell(const std::vector<PoolUtilisation>& pools) {
  return share_cell(pools, &PoolUtilisation::mfu);
}

Cell mbu_cell(const std::vector<PoolUtilisation>& pools) {
  return share_cell(pools, &PoolUtilisation::mbu);
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

Cell gain_cell(double gain) {
  const Printed change = printed::percent(-gain);
  return signed_by(gain < 0 && change.text != "0.0 %" ? "+" : "", change);
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
  section.table.rows.push_back({"", "", "unchanged", printed::time(Seconds{limits.as_is_s}), ""});
  for (const LimitAnswer& limit : limits.limits) {
    const LimitWords& words = words_of(limit.limit);
    section.table.rows.push_back({words.title, use_in_words(limits, limit), words.wider,
                                  printed::time(Seconds{limit.relaxed_s}),
                                  gain_cell(limit.relative_gain)});
  }
  return section;
}

Section advice_section(const LimitsAnswer& limits) {
  const AdviceAnswer& advice = *limits.advice;
  Section section{.heading = "What to do",
                  .lines = advice_lines(limits),
                  .table = {.title = "",
                            .columns = {{"Change", false},
                                        {"Flags", false},
                                        {limits.yardstick},
                                        {"Change"},
                                        {"$/h"},
                                        {"SLO", false}},
                            .rows = {}}};
  const auto price = [](const std::optional<double>& dollars) {
    return dollars ? printed::fixed(*dollars, 2) : "-";
  };
  const bool grows = advice.slo == SloOutcome::saturated;
  section.table.rows.push_back(
      {"unchanged", "", grows ? Cell("unbounded") : Cell(printed::time(Seconds{limits.as_is_s})),
       "", price(advice.dollars_per_hour), std::string(name_of(advice.slo))});
  for (const AdvisedChange& one : advice.changes) {
    const Cell latency = one.latency_s ? Cell(printed::time(Seconds{*one.latency_s})) : "unbounded";
    const Cell gain = one.relative_gain ? Cell(gain_cell(*one.relative_gain)) : "";
    section.table.rows.push_back({one.change, one.flags, latency, gain, price(one.dollars_per_hour),
                                  std::string(name_of(one.slo))});
  }
  return section;
}

}  // namespace roofcast
