#include "model/step/step_sources.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/numbers.hpp"

namespace roofcast {
namespace {

struct SourcePart {
  const char* word;
  double share;
};

std::array<SourcePart, 4> parts_of(const StepSources& sources) {
  return {{{"measured", sources.measured + sources.interpolated},
           {"extended", sources.extended},
           {"fitted", sources.fitted},
           {"datasheet", sources.datasheet}}};
}

SourcePart largest_part(const StepSources& sources) {
  const std::array<SourcePart, 4> parts = parts_of(sources);
  return *std::ranges::max_element(parts, {}, &SourcePart::share);
}

double* share_of(StepSources& sources, Provenance provenance) {
  switch (provenance) {
    case Provenance::measured:
      return &sources.measured;
    case Provenance::interpolated:
      return &sources.interpolated;
    case Provenance::extended:
      return &sources.extended;
    case Provenance::fitted:
      return &sources.fitted;
    case Provenance::datasheet:
      break;
  }
  return &sources.datasheet;
}

}  // namespace

StepSources step_sources(const StepEstimate& step) {
  Seconds all;
  for (const OperatorEstimate& part : step.operators) all += part.time;
  StepSources sources;
  if (all.value <= 0) return sources;
  for (const OperatorEstimate& part : step.operators) {
    *share_of(sources, part.provenance) += part.time / all;
  }
  return sources;
}

bool rests_on_measurements(const StepSources& sources) {
  constexpr double kHalf = 0.5;
  return sources.measured + sources.interpolated + sources.fitted >= kHalf;
}

bool rests_on_datasheet(const StepSources& sources) {
  return sources.datasheet > 0 && largest_part(sources).share == sources.datasheet;
}

std::string step_source_words(const StepSources& sources) {
  const SourcePart part = largest_part(sources);
  if (part.share <= 0) return "";
  constexpr double kAll = 0.995;  // is printed as 100 %
  return part.share >= kAll ? part.word : std::string(part.word) + " " + as_percent(part.share, 0);
}

std::string step_source_words(const StepSources& sources, double relative_uncertainty) {
  const std::string words = step_source_words(sources);
  return words.empty() ? "-" : words + ", ±" + as_percent(relative_uncertainty, 0);
}

}  // namespace roofcast
