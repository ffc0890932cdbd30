// How the times of a step are known: the shares of its operators' time by provenance.
#pragma once

#include <string>

#include "model/step/step_estimate.hpp"

namespace roofcast {

/// Shares of the operators' time, without host work; their sum is 1, or 0 if nothing ran.
struct StepSources {
  double measured = 0;      // at a size that was timed on such a GPU
  double interpolated = 0;  // between such sizes
  double extended = 0;      // beyond them, or carried over from another card
  double fitted = 0;        // by the profile's efficiencies
  double datasheet = 0;     // by the datasheet and default efficiencies

  bool operator==(const StepSources&) const = default;
};

StepSources step_sources(const StepEstimate& step);

/// Whether measurements on such a GPU answer for at least half of the time: kernels at or between
/// their timed sizes, and efficiencies fitted to public measurements.
bool rests_on_measurements(const StepSources& sources);

/// Whether the datasheet with default efficiencies answers for more of it than anything else.
bool rests_on_datasheet(const StepSources& sources);

/// The largest part in a word, with its share unless that is all of it: "measured 71 %" (sizes
/// between timed ones included), "extended 62 %", "fitted 55 %", "datasheet"; empty if nothing ran.
std::string step_source_words(const StepSources& sources);

/// The same with one standard deviation of the times: "measured 71 %, ±8 %"; "-" if nothing ran.
std::string step_source_words(const StepSources& sources, double relative_uncertainty);

}  // namespace roofcast
