// Backend of the web page: runs commands of the program in this process, with the same checks,
// words and digits as `roofcast COMMAND --output json`. Of HTTP it only uses status codes.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "reports/document.hpp"
#include "serve/http_status.hpp"
#include "serve/serve_options.hpp"
#include "serve/without_paths.hpp"
#include "serve/work_slots.hpp"

namespace roofcast {

/// {"code": 0 or 3, "document": ...} with status 200, or {"error": "one line"}.
struct ApiAnswer {
  int status = http_status::kOk;
  Json body{};
};

ApiAnswer api_error(int status, const std::string& line);

/// Whether the client no longer waits for the answer: work for it ends. Called often, from any
/// thread.
using GivenUp = std::function<bool()>;

inline bool never() { return false; }

/// Thread-safe.
class Api {
 public:
  /// `store` need not exist: it is created when the first run is saved.
  Api(ApiLimits limits, std::string store);

  /// POST /api/COMMAND with the flags as a JSON object.
  ApiAnswer command(const std::string& name, const std::string& body,
                    const GivenUp& given_up = never);

  /// POST /api/figures/COMMAND: pictures of what the command answers, for the page to draw.
  ApiAnswer figures(const std::string& name, const std::string& body,
                    const GivenUp& given_up = never);

  /// POST /api/runs: a simulation that is stored; the answer has its id as "run".
  ApiAnswer save(const std::string& body, const GivenUp& given_up = never);

  /// GET /api/WHAT: models, gpus, engines, limits, runs or runs/ID.
  ApiAnswer get(const std::string& what, const GivenUp& given_up = never);

  /// GET /report/ID: `page` gets the report's HTML where the status is 200.
  ApiAnswer report(const std::string& id, std::string& page, const GivenUp& given_up = never);

  /// Running work ends soon, and no new work starts.
  void stop() { stopping_ = true; }

 private:
  /// `draw` in a place and a time of its own; it throws Error once asked to stop.
  ApiAnswer drawn(const GivenUp& given_up, const std::function<ApiAnswer(const GivenUp&)>& draw);
  bool may_have(const std::string& id) const;
  ApiAnswer runs(const GivenUp& given_up);
  ApiAnswer run(const std::string& id);
  ApiAnswer ask(const std::string& name, std::vector<std::string> arguments,
                const GivenUp& given_up);

  const ApiLimits limits_;
  const std::string store_;
  const KnownPaths known_;
  WorkSlots slots_;
  WorkSlots quick_slots_;  // for what takes milliseconds: it does not wait behind simulations
  std::atomic<bool> stopping_{false};
  // They do not change while the program runs; made when they are first asked for.
  std::once_flag models_once_, gpus_once_;
  Json models_, gpus_;
};

}  // namespace roofcast
