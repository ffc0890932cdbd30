// From measured runs to the host terms of an engine: every case predicted again and again with
// other terms until the figures meet (calibrate/overhead_fit.hpp). Kernel curves are not touched.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "calibrate/overhead_fit.hpp"
#include "model/engines/host_terms.hpp"
#include "roofcast/run_simulation.hpp"
#include "validate/validate_manifest.hpp"

namespace roofcast {

struct FitQuestion {
  std::vector<ValidationCase> cases{};
  std::vector<const HostTerm*> terms{};  // to learn, the surest first
  std::string name{};                    // of the engine profile
};

/// A case that takes no part, and why.
struct LeftOutCase {
  std::string name{};
  std::string reason{};
};

struct EngineFit {
  EngineProfile profile{};                     // with every term that was identified
  std::vector<const HostTerm*> terms{};        // as asked
  OverheadFit fit{};                           // one of fit.terms for each
  std::vector<double> preset_values{};         // of each term, seconds
  std::vector<std::string> figures{};          // names of what was fitted: "ttft_s mean"
  std::vector<std::size_t> figure_of_value{};  // of each measured figure, an index of `figures`
  std::size_t cases = 0;                       // that took part
  std::size_t values = 0;                      // measured figures in them
  std::vector<LeftOutCase> left_out{};
};

/// Latencies and step times are fitted, of saturated servers throughputs too: by their mean or
/// single value, by their median where there is no other. `progress` gets the predictions made and
/// what they come to at most; once it returns false nothing is returned. Throws Error when the
/// cases are of several engines, and when none can take part.
std::optional<EngineFit> fit_engine(const FitQuestion& question, const ProgressFunction& progress);

}  // namespace roofcast
