#include "validate/ledger.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "base/joined.hpp"
#include "base/statistics.hpp"

namespace roofcast {
namespace {

constexpr std::array kDimensions = {LedgerBy::all, LedgerBy::group, LedgerBy::engine, LedgerBy::gpu,
                                    LedgerBy::model};

/// "sglang-0.5.9, 8, -"
std::string joined_values(const ComparedCase& compared, const std::vector<std::string>& by) {
  return joined(by, [&](const std::string& key) {
    const auto found = compared.keys.find(key);
    const bool has = found != compared.keys.end() && !found->second.empty();
    return has ? found->second : "-";
  });
}

std::string key_of(const ComparedCase& compared, LedgerBy by,
                   const std::vector<std::string>& keys) {
  switch (by) {
    case LedgerBy::group:
      return compared.group;
    case LedgerBy::engine:
      return compared.engine;
    case LedgerBy::gpu:
      return compared.gpu;
    case LedgerBy::model:
      return compared.model;
    case LedgerBy::keys:
      return joined_values(compared, keys);
    case LedgerBy::all:
      break;
  }
  return "";
}

/// Errors of one line, in the order in which they were added.
struct Tally {
  std::vector<double> errors{};  // signed
  std::int64_t covered = 0;

  ErrorSummary summary() const {
    const ErrorSizes sizes = sizes_of(errors);
    return {.figures = std::ssize(errors),
            .bias = mean(errors),
            .mape = sizes.mean,
            .median = sizes.median,
            .p90 = sizes.p90,
            .coverage = static_cast<double>(covered) / static_cast<double>(errors.size())};
  }
};

using Metric = std::pair<std::string, std::string>;  // name, statistic

/// Tallies by key, which keep the order in which the keys were added.
class Lines {
 public:
  Lines(LedgerBy by, const std::vector<std::string>& by_keys) : by_(by), by_keys_(&by_keys) {}

  void add(const ComparedCase& compared, std::vector<Metric>& metrics) {
    const std::string key = key_of(compared, by_, *by_keys_);
    if (by_ != LedgerBy::all && key.empty()) return;
    for (const ComparedFigure& figure : compared.figures) {
      const std::optional<double> error = relative_error(figure);
      if (!error) continue;
      const Metric metric{figure.name, figure.statistic};
      remember(keys_, key);
      remember(metrics, metric);
      Tally& tally = tallies_[{key, metric}];
      tally.errors.push_back(*error);
      if (is_covered(figure)) ++tally.covered;
    }
  }

  void append_to(std::vector<LedgerLine>& ledger, const std::vector<Metric>& metrics) const {
    for (const std::string& key : keys_) {
      for (const Metric& metric : metrics) {
        const auto found = tallies_.find({key, metric});
        if (found == tallies_.end()) continue;
        ledger.push_back({.by = by_,
                          .key = key,
                          .name = metric.first,
                          .statistic = metric.second,
                          .errors = found->second.summary()});
      }
    }
  }

 private:
  template <class Value>
  static void remember(std::vector<Value>& values, const Value& value) {
    if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
  }

  LedgerBy by_;
  const std::vector<std::string>* by_keys_;
  std::vector<std::string> keys_;
  std::map<std::pair<std::string, Metric>, Tally> tallies_;
};

/// How specific a limit is to a metric: 0 does not apply, 1 applies to all metrics, 2 names it, 3
/// names its statistic too.
int closeness(const ErrorLimit& limit, const LedgerLine& line) {
  if (limit.name.empty()) return 1;
  if (limit.name != line.name) return 0;
  if (limit.statistic.empty()) return 2;
  return limit.statistic == line.statistic ? 3 : 0;
}

}  // namespace

std::optional<double> relative_error(const ComparedFigure& figure) {
  if (figure.measured == figure.predicted) return 0.0;
  if (figure.measured == 0) return std::nullopt;
  return figure.predicted / figure.measured - 1;
}

bool is_covered(const ComparedFigure& figure) {
  return figure.interval.low <= figure.measured && figure.measured <= figure.interval.high;
}

const char* name_of(LedgerBy by) {
  switch (by) {
    case LedgerBy::all:
      return "all";
    case LedgerBy::group:
      return "group";
    case LedgerBy::engine:
      return "engine";
    case LedgerBy::gpu:
      return "gpu";
    case LedgerBy::model:
      return "model";
    case LedgerBy::keys:
      break;
  }
  return "keys";
}

std::vector<LedgerLine> ledger_of(const std::vector<ComparedCase>& cases,
                                  const std::vector<std::string>& by) {
  std::vector<LedgerLine> ledger;
  std::vector<Metric> metrics;
  std::vector<LedgerBy> dimensions(kDimensions.begin(), kDimensions.end());
  if (!by.empty()) dimensions.push_back(LedgerBy::keys);
  for (const LedgerBy dimension : dimensions) {
    Lines lines(dimension, by);
    for (const ComparedCase& compared : cases) lines.add(compared, metrics);
    lines.append_to(ledger, metrics);
  }
  return ledger;
}

std::vector<std::string> ledger_keys(const std::vector<ComparedCase>& cases) {
  std::set<std::string> keys;
  for (const ComparedCase& compared : cases) {
    for (const auto& [key, value] : compared.keys) keys.insert(key);
  }
  return {keys.begin(), keys.end()};
}

std::vector<ExceededLimit> exceeded_limits(const std::vector<LedgerLine>& ledger,
                                           const std::vector<ErrorLimit>& limits) {
  std::vector<ExceededLimit> exceeded;
  for (const LedgerLine& line : ledger) {
    if (line.by != LedgerBy::all) continue;
    const ErrorLimit* closest = nullptr;
    for (const ErrorLimit& limit : limits) {  // among equally specific limits the last wins
      const int min = closest == nullptr ? 1 : closeness(*closest, line);
      if (closeness(limit, line) >= min) closest = &limit;
    }
    if (closest == nullptr || line.errors.mape <= closest->share) continue;
    exceeded.push_back({.name = line.name,
                        .statistic = line.statistic,
                        .mape = line.errors.mape,
                        .limit = closest->share});
  }
  return exceeded;
}

std::vector<ErrorLimit> unjudged_limits(const std::vector<LedgerLine>& ledger,
                                        const std::vector<ErrorLimit>& limits) {
  std::vector<ErrorLimit> unjudged;
  for (const ErrorLimit& limit : limits) {
    const bool judges = std::any_of(ledger.begin(), ledger.end(), [&](const LedgerLine& line) {
      return line.by == LedgerBy::all && closeness(limit, line) > 0;
    });
    if (!judges) unjudged.push_back(limit);
  }
  return unjudged;
}

}  // namespace roofcast
