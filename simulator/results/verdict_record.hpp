// The members of a verdict, as answers write and read them (base/record.hpp).
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "base/record.hpp"
#include "simulator/results/verdict.hpp"

namespace roofcast {

template <>
struct EnumNames<Binding> {
  static constexpr std::array<std::pair<Binding, std::string_view>, 7> values{
      {{Binding::none, "none"},
       {Binding::target, "target"},
       {Binding::goodput, "goodput"},
       {Binding::saturated, "saturated"},
       {Binding::undecided, "undecided"},
       {Binding::nothing_served, "nothing_served"},
       {Binding::stopped, "stopped"}}};
};

template <class Visitor>
void members(Visitor& visit, TargetMargin& target) {
  visit("target", target.what, "percentile, metric and class");
  visit("limit_s", target.limit_s, "limit in seconds");
  visit("achieved_s", target.achieved_s, "simulated; 0: not measured");
  visit("margin", target.margin, "(limit - achieved) / limit");
}

template <class Visitor>
void members(Visitor& visit, SloVerdict& verdict) {
  std::optional<std::size_t> target;
  if (verdict.binding == Binding::target) target = verdict.binding_target;
  std::string words = binding_words(verdict);
  visit("holds", verdict.holds, "the SLO is met and the engine keeps up");
  visit("saturated", verdict.saturated, "the backlog grows for as long as the load lasts");
  visit("undecided", verdict.undecided, "a longer run might give another verdict");
  visit("finding", verdict.finding,
        "why it is undecided or saturated, in words; empty: neither decides");
  visit("counts", verdict.counts, "behind the finding; may be empty");
  visit("requests_unserved", verdict.unserved, "rejected, lost or unfinished");
  visit.if_set("unserved_why", verdict.unserved_why,
               "why requests were rejected, the first reason in words; absent: none was");
  visit("worst_margin", verdict.worst_margin, "the smallest over all requirements");
  visit("binding", words, "what has that margin, or what rules out all; empty without an SLO");
  visit("binding_kind", verdict.binding, "the same as a word");
  visit("binding_target", target, "index into `targets`; null if no target binds");
  visit("targets", verdict.margins, "limits of the SLO and what is achieved");
  visit("goodput_share", verdict.goodput_share, "share of requests; null without goodput limits");
  verdict.binding_target = target.value_or(0);
  if (verdict.binding == Binding::target && verdict.binding_target >= verdict.margins.size()) {
    throw Error("binding_target: expected an index into `targets`");
  }
}

}  // namespace roofcast
