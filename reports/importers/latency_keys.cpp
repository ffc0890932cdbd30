#include "reports/importers/latency_keys.hpp"

#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "reports/importers/metric_rows.hpp"

namespace roofcast {
namespace {

struct Group {
  std::string_view key, metric;
};

// E2E starts when a request is sent, after waiting for the client's own concurrency limit; the last
// two include that wait.
constexpr std::array<Group, 7> kGroups = {
    {{"ttft", "ttft_s"},
     {"tpot", "tpot_s"},
     {"itl", "itl_s"},
     {"e2el", "e2e_s"},
     {"e2e_latency", "e2e_s"},
     {"client_queue_time", "client_queue_s"},
     {"e2el_including_client_queue", "e2e_including_client_queue_s"}}};

struct LatencyKey {
  std::string_view metric;
  std::string statistic;
};

std::optional<LatencyKey> split(std::string_view key, std::string_view suffix) {
  if (!key.ends_with(suffix)) return std::nullopt;
  key.remove_suffix(suffix.size());
  const std::size_t cut = key.find('_');
  if (cut == std::string_view::npos) return std::nullopt;
  for (const Group& group : kGroups) {
    if (group.key != key.substr(cut + 1)) continue;
    auto statistic = statistic_of(key.substr(0, cut));
    if (statistic) return LatencyKey{group.metric, std::move(*statistic)};
  }
  return std::nullopt;
}

}  // namespace

bool is_latency_key(std::string_view key, std::string_view suffix) {
  return split(key, suffix).has_value();
}

void add_latency_keys(MeasuredRun& run, const JsonReader& object, const LatencyKeys& keys) {
  for (const auto& [key, value] : object.value().items()) {
    const auto latency = split(key, keys.suffix);
    if (!latency) continue;
    add_metric(run, latency->metric, latency->statistic, object.number(key), keys.unit);
  }
}

}  // namespace roofcast
