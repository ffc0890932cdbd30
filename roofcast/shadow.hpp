// Shadow mode: a server's metrics beside a simulation of the same load, as the metrics come in.
//
//   ShadowQuestion question{.file = "export.json", .scenario = scenario, .every = Seconds{60}};
//   follow(question, {.window = [](const ShadowWindow& window) { ... }, .wait = [] { ... }});
//
// Fields of an answer are described by its `members`, key by key (shadow.cpp).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "base/progress.hpp"
#include "base/units.hpp"
#include "roofcast/envelope.hpp"
#include "simulator/scenario.hpp"
#include "validate/ledger.hpp"

namespace roofcast {

struct ShadowQuestion {
  std::string file{};   // answers of Prometheus's query_range, which grows (GrowingExport)
  Scenario scenario{};  // the deployment and the seed; its model if the metrics do not name one
  Seconds every{60};    // a window's least length
  std::vector<ErrorLimit> limits{};  // on the mean absolute errors over all windows
};

struct ShadowInputs {
  std::string file{};
  std::string model{}, gpu{};
  Seconds every{};
  std::vector<ErrorLimit> limits{};
};

/// A figure that was both measured and simulated.
struct ShadowFigure {
  std::string name{}, statistic{};  // "ttft_s", "mean"
  double measured = 0, simulated = 0;
  /// Of a percentile of a histogram: the bucket that it is in. `measured` is interpolated inside.
  std::optional<double> lower{}, upper{};
};

struct ShadowWindow {
  double begin_s = 0, end_s = 0;  // Unix time
  std::int64_t requests = 0;      // counted by their first tokens
  std::vector<ShadowFigure> figures{};
};

/// A figure over all windows, weighted by their requests.
struct ShadowError {
  std::string name{}, statistic{};
  double measured = 0, simulated = 0;      // means of the windows' figures
  std::optional<double> lower{}, upper{};  // likewise, of percentiles of histograms
  double mean_absolute_error = 0;          // mean of |relative_error| of the windows
};

struct ShadowAnswer {
  AnswerHead head{};
  ShadowInputs inputs{};
  std::int64_t requests = 0;
  std::vector<ShadowWindow> windows{};
  std::vector<ShadowError> figures{};
  std::vector<ErrorLimit> exceeded{};
  std::vector<ErrorLimit> unjudged{};  // limits that no figure is about
};

/// Calls to the caller between windows and while one is simulated.
struct ShadowSteps {
  std::function<void(const ShadowWindow&)> window{};  // one more; may be empty
  std::function<void(const std::string&)> warn{};     // a line about what was left out
  std::function<bool()> wait{};  // until the file may have grown; false: enough
  Progress progress{};           // of a window's simulation; false: enough
};

/// Reads what was exported so far, window by window, then waits for more until `wait` or `progress`
/// returns false; what is left then is the last window. Each window's load is drawn as
/// validate/observed_workload.hpp says and simulated behind the requests before it, at most 20,000,
/// which keep the engine as busy as it was. Windows without a request are left out; those whose
/// requests have no lengths yet are put into the next, up to 60 of them. Throws Error where the
/// file holds no answer at first, the model or the GPU is unknown or does not fit, or the first
/// window cannot be read in the end; a later one that cannot, or a part of the file, is a warning.
ShadowAnswer follow(const ShadowQuestion& question, const ShadowSteps& steps);

/// Simulated over measured, less 1; 0 where nothing was measured. Of a percentile known only to be
/// in a bucket, against the bucket's nearer end, and 0 inside it: what the histogram cannot tell is
/// no error.
double relative_error(const ShadowFigure& figure);

Json to_json(const ShadowWindow& window);
/// What `roofcast validate --follow FILE -o json` prints.
Json to_json(const ShadowAnswer& answer);

/// Reads what to_json wrote. Throws Error naming the key and what was expected.
ShadowAnswer shadow_answer_from_json(const Json& json);

/// JSON Schema (draft 2020-12) of to_json().
Json shadow_answer_schema();

}  // namespace roofcast
