// Backend of the web page: asks the library, with the same checks, words and digits as `roofcast
// COMMAND --output json`. Of HTTP it only uses status codes.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "reports/document.hpp"
#include "reports/store.hpp"
#include "roofcast/compare.hpp"
#include "serve/http_status.hpp"
#include "serve/progress_board.hpp"
#include "serve/serve_options.hpp"
#include "serve/work_slots.hpp"

namespace roofcast {

/// {"code": 0 or 3, "document": ...} with status 200, or {"error": "one line"}.
struct ApiAnswer {
  int status = http_status::kOk;
  Json body{};
  std::vector<Section> sections{};  // what the command prints; not sent
  bool is_busy = false;             // worth asking again in a second; of a status of 503
};

/// The text that the command prints, with keys as requests spell them.
std::string text_of(const ApiAnswer& answer);

ApiAnswer api_error(int status, const std::string& line);

/// Whether the answer is no longer wanted: work for it ends. Called often, from any thread; stays
/// true once it is.
using GivenUp = std::function<bool()>;

inline bool never() { return false; }

/// Thread-safe.
class Api {
 public:
  /// Answers within a time limit; `stopped` turns true when it must end.
  using Work = std::function<ApiAnswer(const GivenUp& stopped)>;
  using Shown = std::function<void(std::string_view what, std::int64_t done, std::int64_t total)>;

  /// How long an answer takes: each kind has slots of its own, and searches a limit of their own.
  enum class Takes { milliseconds, seconds, a_minute };

  /// A question of POST /api/NAME. `work` and `figures` read it, which may throw Error.
  struct Question {
    std::string_view name{};
    Takes takes = Takes::seconds;
    Work (*work)(const Api& api, const Json& question, const Shown& shown) = nullptr;
    /// Of POST /api/figures/NAME, which also gives "code" and "document", so that their work is
    /// done once, unless there are `only_figures`. Null: it has none.
    Work (*figures)(const Api& api, const Json& question) = nullptr;
    bool only_figures = false;
  };

  static std::span<const Question> questions();

  /// `store` need not exist: it is created when the first run is saved.
  Api(ApiLimits limits, std::string store, bool needs_token = false);

  /// POST /api/COMMAND with the question as a JSON object (serve/questions.hpp). Beside the routes
  /// of the page also models, gpus and runs, by name or id.
  /// `watched_as`, if not empty, names the question for GET /api/progress/NAME while plans,
  /// what-ifs and capacities are answered.
  ApiAnswer command(const std::string& name, const std::string& body,
                    const GivenUp& given_up = never, const std::string& watched_as = {});

  /// POST /api/figures/COMMAND: figures of the answer, for the page to draw.
  ApiAnswer figures(const std::string& name, const std::string& body,
                    const GivenUp& given_up = never);

  /// POST /api/runs: a simulation that is stored; the answer has its id as "run".
  ApiAnswer save(const std::string& body, const GivenUp& given_up = never);

  /// POST /api/runs/name: {"id": 1, "name": "two replicas"}; an empty name removes it.
  ApiAnswer name_run(const std::string& body);
  /// POST /api/runs/delete: {"id": 1}.
  ApiAnswer delete_run(const std::string& body);

  /// POST /api/traces?name=FILE with the file as the body, plain or gzip-compressed: kept in the
  /// store, where questions name it. Letters that no name has become '_'; the answer has the name.
  /// 409 if there is a trace of that name, unless `replaces` (&replace=true).
  ApiAnswer add_trace(const std::string& name, const std::string& file, bool replaces = false,
                      const GivenUp& given_up = never);
  /// POST /api/traces/delete: {"name": "chat.csv"}.
  ApiAnswer delete_trace(const std::string& body);

  /// GET /api/WHAT: models, gpus, engines, glossary, limits, runs, runs/ID, traces, progress/NAME
  /// or openapi.json.
  ApiAnswer get(const std::string& what, const GivenUp& given_up = never);

  /// GET /report/ID: `page` gets the report's HTML where the status is 200.
  ApiAnswer report(const std::string& id, std::string& page, const GivenUp& given_up = never);

  /// Running work ends soon, and no new work starts.
  void stop() { stopping_ = true; }

 private:
  /// Null if there is none of that name.
  static const Question* find(std::string_view name);
  /// Where a question waits for its turn.
  WorkSlots& slots_of(const Question& question);
  /// How long what has a place there may take.
  std::chrono::milliseconds longest_in(const WorkSlots& slots) const;
  /// `make` reads the question, which may throw Error; its work then runs in a slot.
  ApiAnswer answered(WorkSlots& slots, const GivenUp& given_up, const std::function<Work()>& make);
  /// The same of a question as JSON. One that names a trace of the store is read in the slot: it
  /// holds the trace's bytes from then on.
  ApiAnswer asked(WorkSlots& slots, const GivenUp& given_up, const std::string& body,
                  const std::function<Work(const Json&)>& make);
  ApiAnswer worked(WorkSlots& slots, const GivenUp& given_up, const Work& work);
  ApiAnswer error_answer(int status, const std::exception& error) const;
  bool may_have(const std::string& id) const;
  ApiAnswer runs(const GivenUp& given_up);
  ApiAnswer progress(const std::string& name) const;
  ApiAnswer run(const std::string& id);
  ApiAnswer traces();
  /// Runs `change` on the store; its answer's status is 404 if `change` returns false.
  ApiAnswer changed(const std::function<std::function<bool(Store&)>()>& make, const char* absent);
  ApiAnswer listed() const;
  ApiAnswer stored(std::int64_t id) const;
  CompareAnswer compared(const std::vector<std::int64_t>& ids) const;

  const ApiLimits limits_;
  const std::string store_;
  const bool needs_token_;        // for the description
  const std::string store_name_;  // without its folder, for answers
  WorkSlots slots_;
  WorkSlots quick_slots_;   // for what takes milliseconds: it does not wait behind simulations
  WorkSlots search_slots_;  // for what takes up to a minute: simulations do not wait behind it
  ProgressBoard board_;
  std::atomic<bool> stopping_{false};
  // Constant; made at the first request.
  std::once_flag models_once_, gpus_once_;
  Json models_, gpus_;
};

}  // namespace roofcast
