#include "calibrate/collective_cases.hpp"

#include <algorithm>
#include <array>

#include "calibrate/case_grid.hpp"

namespace roofcast {

namespace {

using kernels::CollectiveKind;

constexpr std::array kTimed{Exchange::all_reduce, Exchange::all_gather, Exchange::reduce_scatter,
                            Exchange::all_to_all};

constexpr std::int64_t kVectorBytes = 16;

CollectiveKind kind_of(Exchange exchange) {
  switch (exchange) {
    case Exchange::all_gather:
      return CollectiveKind::all_gather;
    case Exchange::reduce_scatter:
      return CollectiveKind::reduce_scatter;
    case Exchange::all_to_all:
      return CollectiveKind::all_to_all;
    case Exchange::all_reduce:
    case Exchange::point_to_point:
      break;
  }
  return CollectiveKind::all_reduce;
}

/// Whether the message consists of one part per rank.
bool is_cut(CollectiveKind kind) { return kind != CollectiveKind::all_reduce; }

void add_sizes(const OperatorShape& shape, const kernels::Peers& peers, const CaseLimits& limits,
               std::vector<CalibrationCase>& cases) {
  const std::int64_t piece = is_cut(kind_of(shape.exchange)) ? kVectorBytes * shape.ranks : 1;
  for (const auto& [bytes, pass] :
       message_axis(static_cast<std::int64_t>(limits.message_bytes), limits.message_octaves)) {
    cases.push_back({.kind = CaseKind::collective,
                     .shape = shape,
                     .x = static_cast<double>(bytes / piece * piece),
                     .element = kernels::Element::bf16,
                     .source = kernels::KernelSource::library,
                     .kernel = peers.library,
                     .pass = pass});
  }
}

}  // namespace

std::vector<int> rank_counts(int devices) {
  std::vector<int> counts;
  for (int ranks = 2; ranks < devices; ranks *= 2) counts.push_back(ranks);
  if (devices > 1) counts.push_back(devices);
  return counts;
}

std::vector<CalibrationCase> collective_cases(const kernels::Peers& peers,
                                              const CaseLimits& limits) {
  std::vector<CalibrationCase> cases;
  if (peers.library.empty()) return cases;
  for (const int ranks : rank_counts(peers.devices)) {
    for (const Exchange exchange : kTimed) {
      add_sizes({.family = OperatorFamily::collective, .ranks = ranks, .exchange = exchange}, peers,
                limits, cases);
    }
  }
  std::stable_sort(
      cases.begin(), cases.end(),
      [](const CalibrationCase& a, const CalibrationCase& b) { return a.pass < b.pass; });
  return cases;
}

kernels::Collective collective_of(const CalibrationCase& c) {
  kernels::Collective call{.kind = kind_of(c.shape.exchange), .element = c.element};
  const auto element = static_cast<std::int64_t>(kernels::size_of(c.element));
  const std::int64_t parts = is_cut(call.kind) ? c.shape.ranks : 1;
  call.count = static_cast<std::int64_t>(c.x) / (element * parts);
  return call;
}

RankBytes rank_bytes(const kernels::Collective& call, int ranks) {
  const double one =
      static_cast<double>(call.count) * static_cast<double>(kernels::size_of(call.element));
  const double all = one * ranks;
  switch (call.kind) {
    case CollectiveKind::all_reduce:
      break;
    case CollectiveKind::all_gather:
      return {.input = one, .output = all};
    case CollectiveKind::reduce_scatter:
      return {.input = all, .output = one};
    case CollectiveKind::all_to_all:
      return {.input = all, .output = all};
  }
  return {.input = one, .output = one};
}

}  // namespace roofcast
