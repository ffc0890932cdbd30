#include "serve/api.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <sstream>
#include <utility>
#include <variant>
#include <vector>

#include "base/error.hpp"
#include "base/io/bounded_json.hpp"
#include "base/quantity.hpp"
#include "cli/command.hpp"
#include "model/engines/engine.hpp"
#include "reports/store_query.hpp"
#include "serve/answer_figures.hpp"
#include "serve/api_flags.hpp"
#include "serve/http_status.hpp"
#include "serve/process_memory.hpp"
#include "serve/report_page.hpp"

namespace roofcast {
namespace {

struct CommandOutput {
  int code = kExitDone;
  std::string out, err;
};

/// A question that took long was a large one: at its end what it took goes back to the system.
class FreedMemory {
 public:
  FreedMemory() = default;
  FreedMemory(const FreedMemory&) = delete;
  FreedMemory& operator=(const FreedMemory&) = delete;
  ~FreedMemory() {
    constexpr auto kLong = std::chrono::seconds(1);
    if (std::chrono::steady_clock::now() - started_ >= kLong) give_back_freed_memory();
  }

 private:
  std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
};

/// The program's own way from words to an answer, in this process.
CommandOutput run_words(std::vector<std::string> words, const std::function<bool()>& stopped) {
  words.insert(words.begin(), "roofcast");
  words.emplace_back("--output=json");
  std::vector<const char*> argv;
  for (const std::string& word : words) argv.push_back(word.c_str());
  std::ostringstream out;
  std::ostringstream err;
  const int code = run_program(static_cast<int>(argv.size()), argv.data(), out, err, stopped);
  return {code, out.str(), err.str()};
}

/// The first line that the program said, without its name and without paths.
std::string error_line(const std::string& err, const KnownPaths& known) {
  std::string line = err.substr(0, err.find('\n'));
  constexpr std::string_view kName = "roofcast: ";
  if (line.starts_with(kName)) line.erase(0, kName.size());
  return without_paths(line, known);
}

/// 0 and 3 are answers; the rest is an error.
ApiAnswer to_answer(const CommandOutput& output, const KnownPaths& known) {
  if (output.code != kExitDone && output.code != kExitNo) {
    const int status =
        output.code == kExitUsage ? http_status::kBadRequest : http_status::kUnprocessableContent;
    return api_error(status, error_line(output.err, known));
  }
  return {.body = {{"code", output.code},
                   {"document", without_paths_in(Json::parse(output.out), known)}}};
}

/// The document of `command`, made once.
const Json& document_once(std::once_flag& once, Json& document, const std::string& command) {
  std::call_once(once,
                 [&] { document = Json::parse(run_words({command}, [] { return false; }).out); });
  return document;
}

Json engine_list() {
  Json engines = Json::array();
  for (const EnginePreset& preset : engine_presets()) {
    engines.push_back({{"name", preset.name}, {"summary", preset.summary}});
  }
  return {{"engines", std::move(engines)}};
}

Json flags_in(const std::string& body) {
  try {
    return parse_bounded<Json>(body, "the question", RepeatedKeys::refused);
  } catch (const Json::exception&) {
    throw UsageError("the question is not JSON");
  }
}

/// The client is gone: this answer is not read.
ApiAnswer nobody() { return api_error(http_status::kServiceUnavailable, "given up"); }

ApiAnswer busy() {
  return api_error(http_status::kServiceUnavailable, "the server is busy: ask again in a moment");
}

ApiAnswer too_long(const ApiLimits& limits) {
  return api_error(http_status::kGatewayTimeout,
                   fmt::format("took longer than the {:g} s that this server allows; nothing was "
                               "stored: ask for fewer requests or shorter answers",
                               std::chrono::duration<double>(limits.longest_run).count()));
}

ApiAnswer refused(const std::exception& error, const KnownPaths& known) {
  return api_error(http_status::kBadRequest, without_paths(error.what(), known));
}

Json value_json(const QueryValue& value) {
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return *whole;
  if (const auto* number = std::get_if<double>(&value)) return *number;
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  return nullptr;
}

/// Kept as text, since SQLite's own numbers are signed.
Json seed_json(const Json& text) {
  if (!text.is_string()) return text;
  return to_number<std::uint64_t>(text.get_ref<const std::string&>()).value_or(0);
}

/// Runs, an object a row, keyed by column.
Json rows_json(const QueryAnswer& answer) {
  Json rows = Json::array();
  for (const std::vector<QueryValue>& row : answer.rows) {
    Json object = Json::object();
    for (std::size_t i = 0; i < row.size(); ++i) object[answer.columns[i]] = value_json(row[i]);
    object["seed"] = seed_json(object["seed"]);
    rows.push_back(std::move(object));
  }
  return rows;
}

/// "run 12 kept in ..." to 12.
std::int64_t kept_run(const std::string& err) {
  const auto at = err.find("run ");
  return at == std::string::npos ? 0 : std::stoll(err.substr(at + 4));
}

}  // namespace

ApiAnswer api_error(int status, const std::string& line) {
  return {.status = status, .body = {{"error", line}}};
}

Api::Api(ApiLimits limits, std::string store)
    : limits_(limits),
      store_(std::move(store)),
      known_(known_paths(store_)),
      slots_(limits.runs_at_once, limits.runs_waiting),
      quick_slots_(limits.runs_at_once, limits.runs_waiting) {}

ApiAnswer Api::ask(const std::string& name, std::vector<std::string> arguments,
                   const GivenUp& given_up) {
  const auto is_abandoned = [&] { return stopping_ || given_up(); };
  WorkSlots& slots = name == "memory" || name == "estimate" ? quick_slots_ : slots_;
  const auto place = slots.take(limits_.patience, is_abandoned);
  if (!place) return busy();
  const FreedMemory given_back;
  const auto end = std::chrono::steady_clock::now() + limits_.longest_run;
  const auto is_late = [end] { return std::chrono::steady_clock::now() >= end; };
  arguments.insert(arguments.begin(), name);
  const CommandOutput output =
      run_words(std::move(arguments), [&] { return is_abandoned() || is_late(); });
  if (output.code == kExitFailed && stopping_) {
    return api_error(http_status::kServiceUnavailable,
                     "the server is stopping: nothing was stored");
  }
  if (output.code == kExitFailed && given_up()) return nobody();
  if (output.code == kExitFailed && is_late()) return too_long(limits_);
  ApiAnswer answer = to_answer(output, known_);
  if (answer.status == http_status::kOk && output.err.starts_with("run ")) {
    answer.body["run"] = kept_run(output.err);
  }
  return answer;
}

ApiAnswer Api::command(const std::string& name, const std::string& body, const GivenUp& given_up) {
  const auto& names = api_commands();
  if (std::find(names.begin(), names.end(), name) == names.end()) {
    return api_error(http_status::kNotFound, "no such question");
  }
  try {
    std::vector<std::string> arguments = api_arguments(name, flags_in(body), limits_);
    if (name == "simulate" || name == "capacity") arguments.emplace_back("--no-store");
    if (name == "compare") arguments.push_back("--store=" + store_);
    return ask(name, std::move(arguments), given_up);
  } catch (const Error& error) {
    return refused(error, known_);
  }
}

ApiAnswer Api::figures(const std::string& name, const std::string& body, const GivenUp& given_up) {
  const auto& names = figure_commands();
  if (std::find(names.begin(), names.end(), name) == names.end()) {
    return api_error(http_status::kNotFound, "no such figures");
  }
  try {
    const std::vector<std::string> arguments = api_arguments(name, flags_in(body), limits_);
    return drawn(given_up, [&](const GivenUp& stopped) {
      Json found = answer_figures(name, arguments, stopped);
      // Figures are of numbers and of names that were checked; a document repeats what was asked.
      if (found.contains("document")) {
        found["document"] = without_paths_in(found["document"], known_);
      }
      return ApiAnswer{.body = std::move(found)};
    });
  } catch (const Error& error) {
    return refused(error, known_);
  }
}

ApiAnswer Api::save(const std::string& body, const GivenUp& given_up) {
  if (!limits_.saves)
    return api_error(http_status::kForbidden, "the store can only be read: no run is saved");
  try {
    std::vector<std::string> arguments = api_arguments("simulate", flags_in(body), limits_);
    arguments.push_back("--store=" + store_);
    return ask("simulate", std::move(arguments), given_up);
  } catch (const Error& error) {
    return refused(error, known_);
  }
}

ApiAnswer Api::get(const std::string& what, const GivenUp& given_up) {
  constexpr std::string_view kRun = "runs/";
  if (what == "models") return {.body = document_once(models_once_, models_, what)};
  if (what == "gpus") return {.body = document_once(gpus_once_, gpus_, what)};
  if (what == "engines") return {.body = engine_list()};
  if (what == "limits") {
    return {.body = {{"requests", limits_.max_requests},
                     {"tokens", limits_.max_tokens},
                     {"saves", limits_.saves},
                     {"run_s", std::chrono::duration<double>(limits_.longest_run).count()}}};
  }
  if (what == "runs") return runs(given_up);
  if (what.starts_with(kRun)) return run(what.substr(kRun.size()));
  return api_error(http_status::kNotFound, "nothing of that name here");
}

ApiAnswer Api::runs(const GivenUp& given_up) {
  constexpr std::int64_t kMaxListed = 500;  // the newest
  std::error_code ignored;
  if (!std::filesystem::exists(store_, ignored)) {
    return {.body = {{"runs", Json::array()}, {"runs_total", 0}}};
  }
  return drawn(given_up, [&](const GivenUp&) {
    const QueryAnswer newest = query_store(
        store_, fmt::format("SELECT id, kind, created_at, model, gpu, engine, seed, summary, "
                            "tool_version, command_line FROM runs ORDER BY id DESC LIMIT {}",
                            kMaxListed));
    const QueryAnswer all = query_store(store_, "SELECT count(*) FROM runs");
    return ApiAnswer{.body = {{"runs", without_paths_in(rows_json(newest), known_)},
                              {"runs_total", std::get<std::int64_t>(all.rows.at(0).at(0))}}};
  });
}

bool Api::may_have(const std::string& id) const {
  constexpr std::size_t kLongestId = 18;  // digits that 64 bits hold
  std::error_code ignored;
  return !id.empty() && id.size() <= kLongestId &&
         std::all_of(id.begin(), id.end(),
                     [](unsigned char digit) { return std::isdigit(digit) != 0; }) &&
         std::filesystem::exists(store_, ignored);
}

ApiAnswer Api::run(const std::string& id) {
  if (!may_have(id)) return api_error(http_status::kNotFound, "no such run");
  ApiAnswer answer = ask("runs", {id, "--store=" + store_}, [] { return false; });
  if (answer.status == http_status::kUnprocessableContent) answer.status = http_status::kNotFound;
  return answer;
}

ApiAnswer Api::report(const std::string& id, std::string& page, const GivenUp& given_up) {
  if (!may_have(id)) return api_error(http_status::kNotFound, "no such run");
  return drawn(given_up, [&](const GivenUp& stopped) {
    auto found = report_page(store_, std::stoll(id), known_, limits_, stopped);
    if (!found) return api_error(http_status::kNotFound, "no such run");
    page = *std::move(found);
    return ApiAnswer{};
  });
}

ApiAnswer Api::drawn(const GivenUp& given_up,
                     const std::function<ApiAnswer(const GivenUp&)>& draw) {
  const auto is_abandoned = [&] { return stopping_ || given_up(); };
  const auto place = slots_.take(limits_.patience, is_abandoned);
  if (!place) return busy();
  const FreedMemory given_back;
  const auto end = std::chrono::steady_clock::now() + limits_.longest_run;
  const auto is_late = [end] { return std::chrono::steady_clock::now() >= end; };
  try {
    return draw([&] { return is_abandoned() || is_late(); });
  } catch (const UsageError& error) {
    return refused(error, known_);
  } catch (const Error& error) {
    if (is_abandoned()) return nobody();
    if (is_late()) return too_long(limits_);
    return api_error(http_status::kUnprocessableContent, without_paths(error.what(), known_));
  }
}

}  // namespace roofcast
