#include "serve/api.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "base/io/bounded_json.hpp"
#include "reports/answers/answer_documents.hpp"
#include "reports/pages/capacity_table_report.hpp"
#include "reports/pages/figures/compare_figures.hpp"
#include "reports/pages/figures/lesson_figures.hpp"
#include "reports/pages/figures/load_figures.hpp"
#include "reports/pages/figures/staircase_figures.hpp"
#include "reports/pages/simulation_report.hpp"
#include "roofcast/built_in.hpp"
#include "roofcast/capacity.hpp"
#include "roofcast/capacity_table.hpp"
#include "roofcast/compare.hpp"
#include "roofcast/estimate.hpp"
#include "roofcast/gpus.hpp"
#include "roofcast/memory.hpp"
#include "roofcast/models.hpp"
#include "roofcast/plan.hpp"
#include "roofcast/simulate.hpp"
#include "roofcast/staircase.hpp"
#include "roofcast/stored_runs.hpp"
#include "roofcast/stored_traces.hpp"
#include "roofcast/what_if.hpp"
#include "serve/figures_json.hpp"
#include "serve/http_status.hpp"
#include "serve/openapi.hpp"
#include "serve/process_memory.hpp"
#include "serve/questions.hpp"
#include "serve/report_page.hpp"
#include "serve/without_paths.hpp"

namespace roofcast {
namespace {

/// Returns freed memory to the system after long work, which took a lot of it.
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

Json parsed(const std::string& body) {
  try {
    return parse_bounded<Json>(body, "the request", RepeatedKeys::refused);
  } catch (const Json::exception&) {
    throw UsageError("the request is not JSON");
  }
}

ApiAnswer verdict(bool yes, Json document) {
  return {.body = {{"code", code_of(yes)}, {"document", std::move(document)}}};
}

/// With what the command prints.
ApiAnswer verdict(bool yes, Document document) {
  ApiAnswer answer = verdict(yes, std::move(document.machine));
  answer.sections = std::move(document.sections);
  return answer;
}

Progress until(const GivenUp& stopped) {
  return [stopped](std::int64_t, std::int64_t) { return !stopped(); };
}

/// Shows how many of `what` are done.
template <class Shown>
Progress counting(std::string_view what, const Shown& shown, const GivenUp& stopped) {
  return [=](std::int64_t done, std::int64_t total) {
    shown(what, done, total);
    return !stopped();
  };
}

[[noreturn]] void throw_stopped() { throw Error("cancelled"); }

/// Stored in `store_path` unless that is empty.
ApiAnswer simulated(const AskedSimulation& asked, const std::string& store_path,
                    const GivenUp& stopped) {
  std::optional<Store> store;
  std::optional<std::int64_t> id;
  const SimulationOutcome outcome = simulate_in_steps(
      asked.question, {.ready =
                           [&](const SimulationRun&) {
                             if (!store_path.empty()) store.emplace(store_path, Store::Mode::write);
                           },
                       .simulated =
                           [&](const SimulationOutcome& simulated) {
                             if (simulated.answer.stopped) throw_stopped();
                             if (store)
                               id = store_simulation(*store, simulated.run, asked.command_line);
                           },
                       .requests = until(stopped),
                       .simulations = until(stopped)});
  ApiAnswer answer = verdict(is_yes(outcome.answer), simulation_document(outcome.answer));
  if (id) answer.body["run"] = *id;
  return answer;
}

ApiAnswer simulation_drawn(const SimulationQuestion& question, const GivenUp& stopped) {
  const SimulationOutcome outcome = simulate_in_steps(question, {.requests = until(stopped)});
  if (outcome.answer.stopped) throw_stopped();
  return {.body = {{"figures", figures_json(run_figures(outcome.run, until(stopped)))}}};
}

/// A document with its figures.
ApiAnswer drawn(Json document, const std::vector<Figure>& figures) {
  ApiAnswer result = verdict(true, std::move(document));
  result.body["figures"] = figures_json(figures);
  return result;
}

ApiAnswer capacity_drawn(const CapacityQuestion& question, const GivenUp& stopped) {
  const CapacityAnswer answer = capacity(question, until(stopped), stopped);
  ApiAnswer result = verdict(is_yes(answer), to_json(answer));
  if (answer.fits) {
    result.body["figures"] = figures_json(load_figures(answer.inputs.scenario.slo, answer.curve));
  }
  return result;
}

Json engines_json() {
  Json engines = Json::array();
  for (const EngineListEntry& engine : list_engines()) {
    engines.push_back(
        {{"name", engine.name}, {"summary", engine.summary}, {"is_default", engine.is_default}});
  }
  return {{"engines", std::move(engines)}};
}

ApiLimits with_traces(ApiLimits limits, const std::string& store_path) {
  limits.trace = [store_path](const std::string& name) -> std::optional<OfferedTrace> {
    std::error_code ignored;
    if (!std::filesystem::exists(store_path, ignored)) return std::nullopt;
    auto found = Store(store_path, Store::Mode::read).trace(name);
    if (!found) return std::nullopt;
    return OfferedTrace{.requests = found->requests,
                        .bytes = std::make_shared<const std::string>(std::move(found->content))};
  };
  return limits;
}

/// The last part of a path, with '_' for letters that no question may have; empty if nothing is
/// left of it.
std::string plain_name(std::string name) {
  constexpr std::size_t kLongest = 80;
  name = name.substr(name.find_last_of("/\\") + 1);
  if (name.size() > kLongest) name = name.substr(name.size() - kLongest);
  for (char& letter : name) {
    const bool plain = std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '.' ||
                       letter == '-' || letter == '_';
    if (!plain) letter = '_';
  }
  return name.find_first_not_of("._") == std::string::npos ? "" : name;
}

/// Without paths but in the run's name, which is whatever a reader chose.
Json row_json(const RunRow& row) {
  Json json = without_paths_in(to_json(row));
  if (json.contains("name")) json["name"] = row.name;
  return json;
}

Json trace_json(const StoredTrace& trace) {
  return {{"name", trace.name},
          {"created_at", trace.created_at},
          {"requests", trace.requests},
          {"duration_s", trace.duration_s}};
}

}  // namespace

ApiAnswer api_error(int status, const std::string& line) {
  return {.status = status, .body = {{"error", line}}};
}

std::string text_of(const ApiAnswer& answer) {
  return text_with_json_keys({.machine = {}, .sections = answer.sections});
}

Api::Api(ApiLimits limits, std::string store, bool needs_token)
    : limits_(with_traces(std::move(limits), store)),
      store_(std::move(store)),
      needs_token_(needs_token),
      store_name_(std::filesystem::path(store_).filename().string()),
      slots_(limits_.runs_at_once, limits_.runs_waiting),
      quick_slots_(limits_.runs_at_once, limits_.runs_waiting),
      search_slots_(limits_.searches_at_once, limits_.runs_waiting) {}

/// Errors of the store name its file.
ApiAnswer Api::error_answer(int status, const std::exception& error) const {
  std::string line = with_json_keys(error.what());
  for (auto at = line.find(store_); at != std::string::npos;
       at = line.find(store_, at + store_name_.size())) {
    line.replace(at, store_.size(), store_name_);
  }
  return api_error(status, without_paths(line));
}

ApiAnswer Api::answered(WorkSlots& slots, const GivenUp& given_up,
                        const std::function<Work()>& make) {
  Work work;
  try {
    work = make();
  } catch (const Error& error) {
    return error_answer(http_status::kBadRequest, error);
  }
  return worked(slots, given_up, work);
}

ApiAnswer Api::asked(WorkSlots& slots, const GivenUp& given_up, const std::string& body,
                     const std::function<Work(const Json&)>& make) {
  Json question;
  try {
    question = parsed(body);
  } catch (const Error& error) {
    return error_answer(http_status::kBadRequest, error);
  }
  if (!question.is_object() || !question.contains("trace")) {
    return answered(slots, given_up, [&] { return make(question); });
  }
  return worked(slots, given_up, [&](const GivenUp& stopped) {
    Work work;
    try {
      work = make(question);
    } catch (const Error& error) {
      return error_answer(http_status::kBadRequest, error);
    }
    return work(stopped);
  });
}

WorkSlots& Api::slots_of(const Question& question) {
  if (question.takes == Takes::milliseconds) return quick_slots_;
  return question.takes == Takes::a_minute ? search_slots_ : slots_;
}

std::chrono::milliseconds Api::longest_in(const WorkSlots& slots) const {
  return &slots == &search_slots_ ? limits_.longest_search : limits_.longest_run;
}

ApiAnswer Api::worked(WorkSlots& slots, const GivenUp& given_up, const Work& work) {
  const GivenUp is_abandoned = [&] { return stopping_ || given_up(); };
  constexpr auto kBeyondAnother = std::chrono::seconds(2);
  const bool searches = &slots == &search_slots_;
  const auto patience = searches ? longest_in(slots) + kBeyondAnother : limits_.patience;
  const auto place = slots.take(patience, is_abandoned);
  if (!place && is_abandoned()) {
    return api_error(http_status::kServiceUnavailable,
                     stopping_ ? "the server is stopping" : "cancelled");
  }
  if (!place) {
    ApiAnswer busy =
        api_error(http_status::kServiceUnavailable, "the server is busy: try again in a moment");
    busy.is_busy = true;
    return busy;
  }
  const FreedMemory freed;
  const std::chrono::milliseconds longest = longest_in(slots);
  const auto end = std::chrono::steady_clock::now() + longest;
  const auto is_late = [end] { return std::chrono::steady_clock::now() >= end; };
  try {
    ApiAnswer answer = work([&] { return is_abandoned() || is_late(); });
    if (!limits_.profiles.empty() && answer.body.contains("document")) {
      answer.body["document"] = without_paths_in(answer.body["document"]);  // a profile's path
    }
    return answer;
  } catch (const UsageError& error) {
    return error_answer(http_status::kBadRequest, error);
  } catch (const std::bad_alloc&) {
    return api_error(http_status::kUnprocessableContent, "out of memory; try a smaller workload");
  } catch (const std::exception& error) {
    if (stopping_) {
      return api_error(http_status::kServiceUnavailable,
                       "the server is stopping: nothing was stored");
    }
    if (given_up()) return api_error(http_status::kServiceUnavailable, "cancelled");
    if (!is_late()) return error_answer(http_status::kUnprocessableContent, error);
    return api_error(http_status::kGatewayTimeout,
                     fmt::format("exceeded the server's limit of {:g} s; nothing was stored: use "
                                 "fewer requests or shorter outputs",
                                 std::chrono::duration<double>(longest).count()));
  }
}

std::span<const Api::Question> Api::questions() {
  static const auto kQuestions = std::to_array<Question>(
      {{.name = "models",
        .takes = Takes::milliseconds,
        .work = [](const Api&, const Json& question, const Shown&) -> Work {
          return [asked = asked_model(question)](const GivenUp&) {
            if (asked.model.empty()) return verdict(true, models_document(list_models()));
            ModelQuestion one{.model = asked.model};
            if (!asked.weight_format.empty()) one.weight_format = asked.weight_format;
            return verdict(true, model_document(describe_model(one)));
          };
        }},
       {.name = "gpus",
        .takes = Takes::milliseconds,
        .work = [](const Api& api, const Json& question, const Shown&) -> Work {
          return [asked = asked_gpu(question, api.limits_)](const GivenUp&) {
            return verdict(true, asked.gpu.empty() ? gpus_document(list_gpus())
                                                   : gpu_document(describe_gpu(asked.gpu)));
          };
        }},
       {.name = "memory",
        .takes = Takes::milliseconds,
        .work = [](const Api& api, const Json& question, const Shown&) -> Work {
          return [asked = asked_memory(question, api.limits_)](const GivenUp&) {
            const MemoryAnswer answer = memory(asked);
            return verdict(is_yes(answer), memory_document(answer));
          };
        }},
       {.name = "estimate",
        .takes = Takes::milliseconds,
        .work = [](const Api& api, const Json& question, const Shown&) -> Work {
          return [asked = asked_estimate(question, api.limits_)](const GivenUp&) {
            if (const auto one = single_estimate(asked.question)) {
              const EstimateAnswer answer = estimate(*one);
              return verdict(is_yes(answer), estimate_document(answer, asked.operators));
            }
            const BatchesAnswer answer = estimate_batches(asked.question);
            return verdict(is_yes(answer), batches_document(answer));
          };
        }},
       {.name = "staircase",
        .work = [](const Api& api, const Json& question, const Shown&) -> Work {
          return [asked = asked_staircase(question, api.limits_)](const GivenUp&) {
            const StaircaseAnswer answer = staircase(asked);
            return verdict(is_yes(answer), staircase_document(answer));
          };
        },
        .figures = [](const Api& api, const Json& question) -> Work {
          return [asked = asked_staircase(question, api.limits_)](const GivenUp&) mutable {
            // Refused without a GPU: figures are of times.
            if (!asked.deployment) asked.deployment = DeploymentOptions{.model = asked.model};
            return ApiAnswer{
                .body = {{"figures", figures_json(staircase_figures(staircase(asked)))}}};
          };
        },
        .only_figures = true},
       {.name = "learn",
        .work = [](const Api& api, const Json& question, const Shown&) -> Work {
          return [asked = asked_lesson(question, api.limits_)](const GivenUp& stopped) {
            return verdict(true, to_json(learn(asked, until(stopped))));
          };
        },
        .figures = [](const Api& api, const Json& question) -> Work {
          return [asked = asked_lesson(question, api.limits_)](const GivenUp& stopped) {
            const LessonAnswer answer = learn(asked, until(stopped));
            return drawn(to_json(answer), lesson_figures(answer));
          };
        }},
       {.name = "sampling",
        .takes = Takes::milliseconds,
        .work = [](const Api&, const Json& question, const Shown&) -> Work {
          return [asked = asked_sampling(question)](const GivenUp&) {
            return verdict(true, to_json(sampling(asked)));
          };
        },
        .figures = [](const Api&, const Json& question) -> Work {
          return [asked = asked_sampling(question)](const GivenUp&) {
            const SamplingAnswer answer = sampling(asked);
            return drawn(to_json(answer), {sampling_figure(answer)});
          };
        }},
       {.name = "simulate",
        .work = [](const Api& api, const Json& question, const Shown&) -> Work {
          return [asked = asked_simulation(question, api.limits_)](const GivenUp& stopped) {
            return simulated(asked, "", stopped);
          };
        },
        .figures = [](const Api& api, const Json& question) -> Work {
          return [asked = asked_simulation(question, api.limits_)](const GivenUp& stopped) {
            return simulation_drawn(asked.question, stopped);
          };
        },
        .only_figures = true},
       {.name = "capacity",
        .takes = Takes::a_minute,
        .work = [](const Api& api, const Json& question, const Shown& shown) -> Work {
          if (auto several = asked_capacity_table(question, api.limits_)) {
            return [asked = *std::move(several), shown](const GivenUp& stopped) {
              const auto answer = capacity_table(asked, counting("searches", shown, stopped));
              return verdict(is_yes(answer), capacity_table_document(answer));
            };
          }
          return [asked = asked_capacity(question, api.limits_), shown](const GivenUp& stopped) {
            const auto answer = capacity(asked, counting("simulations", shown, stopped), stopped);
            return verdict(is_yes(answer), capacity_document(answer));
          };
        },
        .figures = [](const Api& api, const Json& question) -> Work {
          if (auto several = asked_capacity_table(question, api.limits_)) {
            return [asked = *std::move(several)](const GivenUp& stopped) {
              const CapacityTableAnswer answer = capacity_table(asked, until(stopped));
              ApiAnswer result = verdict(is_yes(answer), to_json(answer));
              result.body["figures"] = figures_json(capacity_table_figures(answer));
              return result;
            };
          }
          return [asked = asked_capacity(question, api.limits_)](const GivenUp& stopped) {
            return capacity_drawn(asked, stopped);
          };
        }},
       {.name = "plan",
        .takes = Takes::a_minute,
        .work = [](const Api& api, const Json& question, const Shown& shown) -> Work {
          return [asked = asked_plan(question, api.limits_), shown](const GivenUp& stopped) {
            const auto counted = [&](PlanStage stage, std::int64_t done, std::int64_t total) {
              constexpr std::array<std::string_view, 3> kCounted = {"placements", "simulations",
                                                                    "limits"};
              shown(kCounted[static_cast<std::size_t>(stage)], done, total);
              return !stopped();
            };
            const PlanAnswer answer = plan(asked, {.progress = counted});
            if (answer.stopped) throw_stopped();
            return verdict(is_yes(answer), plan_document(answer));
          };
        }},
       {.name = "whatif",
        .takes = Takes::a_minute,
        .work = [](const Api& api, const Json& question, const Shown& shown) -> Work {
          return [asked = asked_what_if(question, api.limits_), shown](const GivenUp& stopped) {
            const auto answer = what_if(asked, counting("simulations", shown, stopped));
            if (!answer) throw_stopped();
            return verdict(is_yes(*answer), what_if_document(*answer));
          };
        }},
       {.name = "compare",
        .takes = Takes::milliseconds,
        .work = [](const Api& api, const Json& question, const Shown&) -> Work {
          return [&api, ids = asked_runs(question)](const GivenUp&) {
            Document document = compare_document(api.compared(ids));
            document.machine = without_paths_in(document.machine);
            return verdict(true, std::move(document));
          };
        },
        .figures = [](const Api& api, const Json& question) -> Work {
          return [&api, ids = asked_runs(question)](const GivenUp&) {
            const CompareAnswer answer = api.compared(ids);
            return drawn(without_paths_in(to_json(answer)), compare_figures(answer));
          };
        }},
       {.name = "runs",
        .takes = Takes::milliseconds,
        .work = [](const Api& api, const Json& question, const Shown&) -> Work {
          return [&api, id = asked_run(question)](const GivenUp&) {
            return id ? api.stored(*id) : api.listed();
          };
        }}});
  return kQuestions;
}

const Api::Question* Api::find(std::string_view name) {
  const auto found = std::ranges::find(questions(), name, &Question::name);
  return found == questions().end() ? nullptr : &*found;
}

CompareAnswer Api::compared(const std::vector<std::int64_t>& ids) const {
  check_compared(ids.size());
  const Store store(store_, Store::Mode::read);
  CompareQuestion asked{.store = store_name_};
  for (const std::int64_t id : ids) asked.runs.push_back(stored_run(store, store_name_, id));
  return compare(asked);
}

ApiAnswer Api::command(const std::string& name, const std::string& body, const GivenUp& given_up,
                       const std::string& watched_as) {
  const Question* kind = find(name);
  if (kind == nullptr) return api_error(http_status::kNotFound, "unknown question");
  std::optional<ProgressBoard::Entry> entry;
  if (!watched_as.empty()) {
    if (!ProgressBoard::is_name(watched_as)) {
      return api_error(http_status::kBadRequest,
                       "Roofcast-Progress: expected 1 to 40 letters, digits and '-'");
    }
    entry.emplace(board_, watched_as);
  }
  const Shown shown = [&](std::string_view what, std::int64_t done, std::int64_t total) {
    if (entry) entry->show({.what = what, .done = done, .total = total});
  };
  return asked(slots_of(*kind), given_up, body,
               [&](const Json& question) { return kind->work(*this, question, shown); });
}

ApiAnswer Api::progress(const std::string& name) const {
  const auto count = board_.of(name);
  if (!count) return {.body = Json::object()};  // browsers log every 404
  return {.body = {{"what", count->what}, {"done", count->done}, {"total", count->total}}};
}

ApiAnswer Api::figures(const std::string& name, const std::string& body, const GivenUp& given_up) {
  const Question* kind = find(name);
  if (kind == nullptr || kind->figures == nullptr) {
    return api_error(http_status::kNotFound, "no such figures");
  }
  return asked(slots_of(*kind), given_up, body,
               [&](const Json& question) { return kind->figures(*this, question); });
}

ApiAnswer Api::save(const std::string& body, const GivenUp& given_up) {
  if (!limits_.saves)
    return api_error(http_status::kForbidden, "the store is read-only: runs are not saved");
  return asked(slots_, given_up, body, [&](const Json& question) -> Work {
    return [this, asked = asked_simulation(question, limits_)](const GivenUp& stopped) {
      return simulated(asked, store_, stopped);
    };
  });
}

ApiAnswer Api::changed(const std::function<std::function<bool(Store&)>()>& make,
                       const char* absent) {
  if (!limits_.saves) {
    return api_error(http_status::kForbidden, "the store is read-only: nothing is changed");
  }
  return answered(slots_, never, [&]() -> Work {
    return [this, absent, change = make()](const GivenUp&) {
      std::error_code ignored;
      if (!std::filesystem::exists(store_, ignored)) {
        return api_error(http_status::kNotFound, absent);
      }
      Store store(store_, Store::Mode::write);
      return change(store) ? ApiAnswer{.body = Json::object()}
                           : api_error(http_status::kNotFound, absent);
    };
  });
}

ApiAnswer Api::name_run(const std::string& body) {
  return changed(
      [&] {
        return [named = asked_name(parsed(body))](Store& store) {
          return store.name_run(named.id, named.name);
        };
      },
      "no such run");
}

ApiAnswer Api::delete_run(const std::string& body) {
  return changed(
      [&] {
        const auto id = asked_run(parsed(body));
        if (!id) throw UsageError("expected a run's id, such as {\"id\": 1}");
        return [id = *id](Store& store) { return store.remove_run(id); };
      },
      "no such run");
}

ApiAnswer Api::delete_trace(const std::string& body) {
  return changed(
      [&] {
        return
            [name = asked_trace(parsed(body))](Store& store) { return store.remove_trace(name); };
      },
      "no such trace");
}

ApiAnswer Api::add_trace(const std::string& name, const std::string& file, bool replaces,
                         const GivenUp& given_up) {
  if (!limits_.saves) {
    return api_error(http_status::kForbidden, "the store is read-only: no trace is added");
  }
  return answered(slots_, given_up, [&]() -> Work {
    const std::string plain = plain_name(name);
    if (plain.empty()) throw UsageError("name: expected the name of the trace's file");
    return [this, plain, replaces, &file](const GivenUp&) {
      const StoredTrace trace = trace_for_store(plain, file, limits_.traces);
      Store store(store_, Store::Mode::write);
      const Store::Kept kept = store.add_trace(trace, replaces, limits_.max_traces);
      if (kept == Store::Kept::full) {
        throw UsageError(
            fmt::format("the store has {} traces already: delete one first", limits_.max_traces));
      }
      if (kept == Store::Kept::name_taken) {
        return api_error(http_status::kConflict,
                         fmt::format("the store has a trace '{}' already", plain));
      }
      return ApiAnswer{.body = trace_json(trace)};
    };
  });
}

ApiAnswer Api::traces() {
  std::error_code ignored;
  Json list = Json::array();
  if (!std::filesystem::exists(store_, ignored)) return {.body = {{"traces", std::move(list)}}};
  return worked(quick_slots_, never, [&](const GivenUp&) {
    for (const StoredTrace& trace : Store(store_, Store::Mode::read).traces()) {
      list.push_back(trace_json(trace));
    }
    return ApiAnswer{.body = {{"traces", list}}};
  });
}

ApiAnswer Api::get(const std::string& what, const GivenUp& given_up) {
  constexpr std::string_view kRun = "runs/", kProgress = "progress/";
  if (what == "models") {
    std::call_once(models_once_, [this] { models_ = to_json(list_models()); });
    return {.body = models_};
  }
  if (what == "gpus") {
    std::call_once(gpus_once_, [this] {
      GpuListAnswer list = list_gpus();
      for (const OfferedProfile& profile : limits_.profiles) {
        list.gpus.push_back(describe_gpu(profile.path).gpu);
      }
      gpus_ = to_json(list);
    });
    return {.body = gpus_};
  }
  if (what == "engines") return {.body = engines_json()};
  if (what == "glossary") return {.body = to_json(glossary_answer(glossary()))};
  if (what == "limits") {
    return {.body = {{"requests", limits_.max_requests},
                     {"small_load", kSmallLoad},
                     {"tokens", limits_.max_tokens},
                     {"saves", limits_.saves},
                     {"run_s", std::chrono::duration<double>(limits_.longest_run).count()},
                     {"search_s", std::chrono::duration<double>(limits_.longest_search).count()}}};
  }
  if (what == "openapi.json") return {.body = openapi(limits_, needs_token_)};
  if (what == "runs") return runs(given_up);
  if (what == "traces") return traces();
  if (what.starts_with(kProgress)) return progress(what.substr(kProgress.size()));
  if (what.starts_with(kRun)) return run(what.substr(kRun.size()));
  return api_error(http_status::kNotFound, "not found");
}

ApiAnswer Api::runs(const GivenUp& given_up) {
  constexpr std::int64_t kMaxListed = 500;  // the newest
  std::error_code ignored;
  if (!std::filesystem::exists(store_, ignored)) {
    return {.body = {{"runs", Json::array()}, {"runs_total", 0}}};
  }
  return worked(slots_, given_up, [&](const GivenUp&) {
    const Store store(store_, Store::Mode::read);
    Json runs = Json::array();
    for (const RunRow& row : store.runs(kMaxListed)) {
      runs.push_back(row_json(row));
    }
    return ApiAnswer{.body = {{"runs", std::move(runs)}, {"runs_total", store.run_count()}}};
  });
}

/// The newest runs, a line each.
ApiAnswer Api::listed() const {
  constexpr std::int64_t kMaxShown = 50;
  Document document{.machine = {{"runs", Json::array()}}, .sections = {}};
  std::error_code ignored;
  if (!std::filesystem::exists(store_, ignored)) {
    document.sections.push_back({.heading = "", .lines = {"no runs are stored"}, .table = {}});
    return verdict(true, std::move(document));
  }
  const Store store(store_, Store::Mode::read);
  Table table{.title = "",
              .columns = {{"Run"},
                          {"Kind", false},
                          {"Model", false},
                          {"GPU", false},
                          {"Engine", false},
                          {"Summary", false}},
              .rows = {}};
  for (const RunRow& row : store.runs(kMaxShown)) {
    document.machine["runs"].push_back(row_json(row));
    table.rows.push_back({std::to_string(row.id), row.kind, row.model, row.gpu, row.engine,
                          without_paths(row.summary)});
  }
  document.sections.push_back({.heading = "", .lines = {}, .table = std::move(table)});
  return verdict(true, std::move(document));
}

/// One run: its figures.
ApiAnswer Api::stored(std::int64_t id) const {
  const Store store(store_, Store::Mode::read);
  const Run run = stored_run(store, store_name_, id);
  Document document{.machine = without_paths_in(run_json(run, store_name_)), .sections = {}};
  Table table{
      .title = "", .columns = {{"Metric", false}, {"Statistic", false}, {"Value"}}, .rows = {}};
  for (const MetricRow& metric : run.metrics) {
    table.rows.push_back({metric.name, metric.statistic, fmt::format("{:.6g}", metric.value)});
  }
  document.sections.push_back(
      {.heading = fmt::format("Run {}: {} of {} on {}, {}", id, run.row.kind, run.row.model,
                              run.row.gpu, run.row.engine),
       .lines = {without_paths(run.row.summary)},
       .table = std::move(table)});
  return verdict(true, std::move(document));
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
  ApiAnswer answer = worked(slots_, never, [&](const GivenUp&) {
    const Store store(store_, Store::Mode::read);
    const Run run = stored_run(store, store_name_, std::stoll(id));
    return verdict(true, without_paths_in(run_json(run, store_name_)));
  });
  if (answer.status == http_status::kUnprocessableContent) answer.status = http_status::kNotFound;
  return answer;
}

ApiAnswer Api::report(const std::string& id, std::string& page, const GivenUp& given_up) {
  if (!may_have(id)) return api_error(http_status::kNotFound, "no such run");
  return answered(slots_, given_up, [&]() -> Work {
    return [&](const GivenUp& stopped) {
      auto found = report_page(store_, std::stoll(id), limits_, stopped);
      if (!found) return api_error(http_status::kNotFound, "no such run");
      page = *std::move(found);
      return ApiAnswer{};
    };
  });
}

}  // namespace roofcast
