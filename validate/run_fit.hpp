// Fits an engine's host terms to measured runs: predicts every case repeatedly with varying terms
// until the figures match (calibrate/overhead_fit.hpp). Kernel curves are not changed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/progress.hpp"
#include "calibrate/overhead_fit.hpp"
#include "model/engines/host_terms.hpp"
#include "planner/scenario/simulation_notes.hpp"
#include "validate/validate_manifest.hpp"

namespace roofcast {

struct EngineFitTask {
  std::vector<ValidationCase> cases{};
  std::vector<const HostTerm*> terms{};  // to fit, the surest first
  std::string name{};                    // of the engine profile
};

/// A case that is not used, and why.
struct LeftOutCase {
  std::string name{};
  std::string reason{};
};

struct EngineFit {
  EngineProfile profile{};                     // with every identified term
  std::vector<const HostTerm*> terms{};        // as requested
  OverheadFit fit{};                           // one of fit.terms for each of `terms`
  std::vector<double> preset_values{};         // per term, in seconds
  std::vector<std::string> figures{};          // names of what was fitted: "ttft_s mean"
  std::vector<std::size_t> figure_of_value{};  // per measured figure, an index into `figures`
  std::size_t cases = 0;                       // used in the fit
  std::size_t values = 0;                      // measured figures in them
  std::vector<LeftOutCase> left_out{};
};

/// Fits latencies and step times, and throughputs of saturated servers: by their mean or single
/// value, or by their median if there is no other. `progress` receives the predictions made and
/// their maximum number; if it returns false, returns nullopt. Throws Error if the cases use
/// several engines, or if none can be used.
std::optional<EngineFit> fit_engine(const EngineFitTask& task, const Progress& progress);

}  // namespace roofcast
