#include "simulator/results/figures.hpp"

#include <algorithm>
#include <string>
#include <variant>

#include "simulator/results/verdict.hpp"

namespace roofcast {
namespace {

/// Whether the SLO is met, 1 or 0: the one figure of a result that is not a member.
constexpr FigureWords kSloMet{"SLO met", "1: met, 0: not; none without an SLO", FigureForm::count};
constexpr const char* kSloMetName = "slo_met";

template <class Figures, class Record>
void add_stored(std::vector<StoredFigure>& all, const Figures& figures, const Record& record) {
  for (const auto& figure : figures) {
    const FigurePlaces& places = figure.words.places;
    if (!places.stored) continue;
    std::optional<double> number = number_of(record, figure);
    if (number == 0 && !places.zero_stored) number.reset();
    all.push_back({figure.name, &figure.words, number});
  }
}

template <class Figures>
const FigureWords* find_words(const Figures& figures, std::string_view name) {
  for (const auto& figure : figures) {
    if (name == figure.name) return &figure.words;
  }
  return nullptr;
}

}  // namespace

const LatencyFigure& figure_of(LatencyMetric metric) {
  return *latency_named(std::string(name_of(metric)) + "_s");  // every metric has one
}

const LatencyFigure* latency_named(std::string_view name) {
  const auto* found = std::ranges::find(kLatencyFigures, name, &LatencyFigure::name);
  return found != kLatencyFigures.end() ? found : nullptr;
}

bool grows_if_saturated(const LoadResult& load, const LatencyFigure& latency) {
  constexpr double kHardly = 0.1;
  return latency.waits && (load.*latency.distribution).mean > kHardly * load.ttft.mean;
}

EngineCounts& EngineCounts::operator+=(const EngineCounts& more) {
  for (const EngineFigure& figure : kEngineFigures) {
    const auto* count = std::get_if<std::int64_t EngineCounts::*>(&figure.value);
    if (count != nullptr) this->** count += more.**count;
  }
  return *this;
}

std::optional<double> kv_empty_share(const EngineUse& use) {
  return use.mean_kv_use > 0 ? std::optional(use.mean_kv_empty / use.mean_kv_use) : std::nullopt;
}

std::vector<StoredFigure> stored_figures(const SimulationResult& result) {
  std::vector<StoredFigure> all;
  add_stored(all, kLoadFigures, result);
  add_stored(all, kEngineFigures, result.use);
  std::optional<double> met;
  if (!result.slo.empty()) met = judge(result).holds ? 1 : 0;
  all.push_back({kSloMetName, &kSloMet, met});
  return all;
}

const FigureWords* words_of_figure(std::string_view name) {
  if (name == kSloMetName) return &kSloMet;
  const FigureWords* words = find_words(kLoadFigures, name);
  return words != nullptr ? words : find_words(kEngineFigures, name);
}

}  // namespace roofcast
