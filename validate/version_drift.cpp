#include "validate/version_drift.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/dates.hpp"
#include "base/error.hpp"
#include "base/statistics.hpp"
#include "validate/decisions.hpp"

namespace roofcast {
namespace {

/// A run of a setting.
struct Dated {
  std::chrono::sys_days day{};
  const DecisionRun* run = nullptr;
};

/// Two runs of a setting.
struct Ratio {
  std::string setting{};
  std::string half_year{};
  double measured = 1;
  double predicted = 1;
};

std::optional<std::chrono::sys_days> day_of(const std::string& text) {
  std::string_view left = text;
  const auto day = take_date(left);
  return left.empty() ? day : std::nullopt;
}

/// "2026-1" for January to June.
std::string half_year_of(std::chrono::sys_days day) {
  const std::chrono::year_month_day date(day);
  constexpr unsigned kLastOfFirstHalf = 6;
  return fmt::format("{}-{}", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()) <= kLastOfFirstHalf ? 1 : 2);
}

/// The largest ratio of two runs whose later one is in each half-year.
std::vector<Ratio> ratios_of(const std::string& setting, const std::vector<Dated>& runs) {
  std::map<std::string, Ratio> largest;
  for (const Dated& a : runs) {
    for (const Dated& b : runs) {
      const auto apart = b.day - a.day;
      if (apart <= std::chrono::days(0) || apart > std::chrono::days(kDriftDays)) continue;
      const bool slower = a.run->measured_tpot > b.run->measured_tpot;
      const DecisionRun& slow = slower ? *a.run : *b.run;
      const DecisionRun& fast = slower ? *b.run : *a.run;
      Ratio ratio{.setting = setting,
                  .half_year = half_year_of(b.day),
                  .measured = slow.measured_tpot / fast.measured_tpot};
      if (fast.predicted_tpot > 0) ratio.predicted = slow.predicted_tpot / fast.predicted_tpot;
      Ratio& kept = largest[ratio.half_year];
      if (kept.setting.empty() || ratio.measured > kept.measured) kept = ratio;
    }
  }
  std::vector<Ratio> ratios;
  for (auto& [half_year, ratio] : largest) ratios.push_back(std::move(ratio));
  return ratios;
}

VersionDrift drift_line(const std::vector<Ratio>& ratios) {
  std::vector<double> measured;
  for (const Ratio& ratio : ratios) measured.push_back(ratio.measured);
  const auto top =
      std::max_element(ratios.begin(), ratios.end(),
                       [](const Ratio& a, const Ratio& b) { return a.measured < b.measured; });
  return {.half_year = top->half_year,
          .settings = std::ssize(ratios),
          .median = median(measured),
          .largest = top->measured,
          .setting = top->setting,
          .predicted = top->predicted};
}

}  // namespace

std::vector<VersionDrift> version_drift(const std::vector<ComparedCase>& cases) {
  struct Setting {
    std::string gpu;
    std::string engine;
    std::vector<Dated> runs;
  };
  // The runs are kept while the settings point at them.
  std::vector<DecisionRun> all;
  std::vector<std::pair<std::string, std::chrono::sys_days>> facts;  // engine, day
  for (const ComparedCase& compared : cases) {
    std::vector<DecisionRun> one = decision_runs({compared});
    const auto engine = compared.keys.find("engine_name");
    if (one.empty() || one.front().measured_tpot <= 0 || engine == compared.keys.end()) continue;
    const auto day = day_of(one.front().date);
    if (!day) continue;
    all.push_back(std::move(one.front()));
    facts.emplace_back(engine->second, *day);
  }
  std::map<std::string, Setting> settings;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const DecisionRun& run = all[i];
    Setting& setting =
        settings[fmt::format("{}, {}, {}, x{}", run.gpu, run.question, run.deployment, run.point)];
    setting.gpu = run.gpu;
    setting.engine = facts[i].first;
    setting.runs.push_back({facts[i].second, &run});
  }
  using Key = std::tuple<std::string, std::string, std::string, std::string>;
  std::map<Key, std::vector<Ratio>> lines;  // vendor, engine, half-year, GPU
  for (const auto& [name, setting] : settings) {
    const std::string vendor = setting.gpu.substr(0, setting.gpu.find('-'));
    for (const Ratio& ratio : ratios_of(name, setting.runs)) {
      lines[{vendor, setting.engine, ratio.half_year, ""}].push_back(ratio);
      lines[{vendor, setting.engine, ratio.half_year, setting.gpu}].push_back(ratio);
    }
  }
  std::vector<VersionDrift> drift;
  for (const auto& [key, ratios] : lines) {
    VersionDrift line = drift_line(ratios);
    std::tie(line.vendor, line.engine, line.half_year, line.gpu) = key;
    drift.push_back(std::move(line));
  }
  return drift;
}

}  // namespace roofcast
