#include "planner/load/load_hours.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>

#include "base/wording.hpp"

namespace roofcast {
namespace {

constexpr Nanoseconds kHour = 3'600'000'000'000;
constexpr double kHourS = 3600;

std::size_t hour_of(const Workload& workload, const Request& request) {
  return static_cast<std::size_t>((request.arrival - workload.requests.front().arrival) / kHour);
}

double ratio(std::int64_t part, std::int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

}  // namespace

bool has_hours(const Workload& workload) {
  return !workload.requests.empty() && workload.stages.empty() &&
         std::ranges::all_of(workload.requests,
                             [](const Request& request) { return request.follows == kNoRequest; });
}

std::vector<LoadHour> load_by_hour(const Workload& workload) {
  assert(has_hours(workload));
  std::vector<LoadHour> hours(hour_of(workload, workload.requests.back()) + 1);
  for (std::size_t i = 0; i < hours.size(); ++i) {
    hours[i].start_s = kHourS * static_cast<double>(i);
  }
  for (const Request& request : workload.requests) {
    LoadHour& hour = hours[hour_of(workload, request)];
    ++hour.requests;
    hour.input_tokens += request.input_tokens;
    hour.output_tokens += request.output_tokens;
  }
  return hours;
}

double relative_load(const LoadHour& hour, const LoadHour& busiest) {
  return std::max({ratio(hour.requests, busiest.requests),
                   ratio(hour.input_tokens, busiest.input_tokens),
                   ratio(hour.output_tokens, busiest.output_tokens)});
}

std::size_t busiest_hour(std::span<const LoadHour> hours) {
  assert(!hours.empty());
  std::int64_t input = 0;
  std::int64_t output = 0;
  for (const LoadHour& hour : hours) {
    input += hour.input_tokens;
    output += hour.output_tokens;
  }
  const auto weight = [&](const LoadHour& hour) {
    return ratio(hour.input_tokens, input) + ratio(hour.output_tokens, output);
  };
  return static_cast<std::size_t>(std::ranges::max_element(hours, {}, weight) - hours.begin());
}

Workload hours_of(const Workload& workload, std::size_t first, std::size_t count) {
  assert(has_hours(workload));
  Workload part;
  part.contents = workload.contents;
  part.class_names = workload.class_names;
  part.recorded_limit = workload.recorded_limit;
  part.notes = workload.notes;
  const Nanoseconds begin =
      workload.requests.front().arrival + static_cast<Nanoseconds>(first) * kHour;
  for (const Request& request : workload.requests) {
    const std::size_t hour = hour_of(workload, request);
    if (hour < first || hour >= first + count) continue;
    part.requests.push_back(request);
    part.requests.back().arrival -= begin;
  }
  part.description = fmt::format("{}; {} from hour {} on: {}", workload.description,
                                 counted(static_cast<std::int64_t>(count), "hour"), first,
                                 counted(std::ssize(part.requests), "request"));
  return part;
}

std::vector<std::int64_t> units_by_hour(std::span<const LoadHour> hours, std::int64_t units) {
  constexpr double kRounding = 1e-9;
  const LoadHour& busiest = hours[busiest_hour(hours)];
  std::vector<std::int64_t> needed;
  for (const LoadHour& hour : hours) {
    const double share = relative_load(hour, busiest) * static_cast<double>(units);
    const auto whole = static_cast<std::int64_t>(std::ceil(share * (1 - kRounding)));
    needed.push_back(std::clamp<std::int64_t>(whole, 1, units));
  }
  std::vector<std::int64_t> paid = needed;
  for (std::size_t i = 0; i + 1 < needed.size(); ++i) paid[i] = std::max(needed[i], needed[i + 1]);
  return paid;
}

}  // namespace roofcast
