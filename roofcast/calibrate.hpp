// Times this machine's kernels and writes its hardware profile.
//
//   CalibrationQuestion question{{.extent = ExtentKind::quick}};
//   question.device = "cpu";
//   const CalibrationAnswer answer = calibrate(question);
//   std::cout << answer.profile << '\n';
//
// Fields of an answer are described by its `members`, key by key (calibrate.cpp).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/json.hpp"
#include "base/progress.hpp"
#include "base/units.hpp"
#include "calibrate/curve_errors.hpp"
#include "calibrate/run_calibration.hpp"
#include "roofcast/envelope.hpp"

namespace roofcast {

struct CalibrationQuestion : CalibrateOptions {
  std::string device = "cpu";  // cpu, cuda (the first GPU) or cuda:N
  int threads = 0;             // of the CPU; 0: one per core
};

struct CalibrationInputs {
  std::string model{};  // whose shapes were timed; empty: generic shapes
};

/// The best rates and shortest times seen; 0: not timed.
struct CalibratedCeilings : DeviceRates {
  std::vector<std::pair<std::string, FlopsPerSecond>> gemm{};  // by number format
};

/// Rates of the device's datasheet; 0 or absent: not known.
struct DatasheetRates {
  BytesPerSecond memory_bandwidth{};
  std::map<std::string, FlopsPerSecond> peaks{};  // by number format
};

struct CalibrationAnswer {
  AnswerHead head{};
  CalibrationInputs inputs{};
  std::string profile{};     // its file
  std::string gpu{};         // name of the profile
  bool known_gpu = false;    // its datasheet facts come from the catalogue
  std::int64_t run_id = 0;   // in the store
  std::int64_t points = 0;   // in the profile
  std::int64_t resumed = 0;  // of them, from an interrupted calibration
  double elapsed_s = 0;
  CalibratedCeilings ceilings{};
  std::vector<FamilyError> families{};  // each point answered from the others of its curve
  std::vector<PointError> worst{};      // largest error first
  std::string incomplete{};             // why it ended early; empty: it did not
  std::int64_t dropped_samples = 0;     // throttled
  std::vector<std::string> rejected{};  // points faster than physically possible
  std::vector<std::string> too_long{};  // points that would have taken too long
  std::vector<std::string> failed{};    // "NAME: WHY"
  std::int64_t not_reached = 0;         // points beyond the time
  std::vector<std::string> untimed{};   // operators that no kernel here computes

  // Not in the JSON.
  bool finished = true;            // false: interrupted, there is no profile and no JSON
  std::int64_t stored_points = 0;  // in the store, for `resume`
  std::string gpu_display_name{};
  std::string fault{};  // the device's last message if it was lost; empty: it was not
  DatasheetRates datasheet{};
  std::vector<std::string> notes{};  // what to know about the measurement, human-readable
};

/// Writes the profile and stores every sample. `progress` gets (points timed, points planned); if
/// it returns false the answer is not `finished`. `tell` gets lines for people while it runs.
/// Throws Error before timing anything if the device, model, store or file cannot be used, and if
/// the device is lost before enough was timed.
CalibrationAnswer calibrate(const CalibrationQuestion& question, const Progress& progress = {},
                            const std::function<void(const std::string&)>& tell = {});

/// The answer of a calibration that run_calibration() made on a device of the caller's.
CalibrationAnswer answer_of(const CalibrationOutcome& outcome);

/// What `roofcast calibrate -o json` prints. Precondition: it is finished.
Json to_json(const CalibrationAnswer& answer);

/// Reads what to_json wrote. Throws Error naming the key and what was expected.
CalibrationAnswer calibration_answer_from_json(const Json& json);

/// JSON Schema (draft 2020-12) of to_json().
Json calibration_answer_schema();

}  // namespace roofcast
