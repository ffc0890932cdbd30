// The extension module roofcast._native: questions by name, answers, and the program itself. What
// people import is roofcast/__init__.py, a thin layer over it.
#include <pybind11/functional.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <iostream>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>
#include <utility>

#include "base/error.hpp"
#include "base/version.hpp"
#include "cli/command.hpp"
#include "python/answers.hpp"
#include "reports/figures/chart_renderer.hpp"
#include "reports/figures/stacked_svg.hpp"

namespace roofcast::python {
namespace {

namespace py = pybind11;

std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// State shared by the thread that works and the thread of the interpreter.
class Shared {
 public:
  bool stopped() const { return stopped_.load(std::memory_order_relaxed); }
  void stop() { stopped_ = true; }

  bool show(std::int64_t done, std::int64_t total) {
    done_.store(done, std::memory_order_relaxed);
    total_.store(total, std::memory_order_relaxed);
    return !stopped();
  }
  std::pair<std::int64_t, std::int64_t> shown() const { return {done_, total_}; }

  void tell(const std::string& line) {
    const std::lock_guard lock(mutex_);
    lines_.push_back(line);
  }
  std::vector<std::string> told() {
    const std::lock_guard lock(mutex_);
    return std::exchange(lines_, {});
  }

  void end() {
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
    }
    changed_.notify_one();
  }
  /// Whether the work ended within `patience`.
  bool ends_within(std::chrono::milliseconds patience) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, patience, [this] { return ended_; });
  }

 private:
  std::atomic<bool> stopped_{false};
  std::atomic<std::int64_t> done_{0}, total_{0};
  std::mutex mutex_{};
  std::condition_variable changed_{};
  bool ended_ = false;
  std::vector<std::string> lines_{};
};

/// Runs `work` on a thread of its own without the interpreter's lock. Meanwhile signals (Ctrl-C)
/// are handled and `progress(done, total)` and `tell(line)` called; an exception of any of them
/// stops the work and is raised once it has ended.
void run_beside(const std::function<void(Shared&)>& work, const py::object& progress,
                const py::object& tell) {
  constexpr std::chrono::milliseconds kPollInterval{50};
  Shared shared;
  std::exception_ptr failure;
  std::optional<py::error_already_set> raised;
  std::thread worker([&] {
    try {
      work(shared);
    } catch (...) {
      failure = std::current_exception();
    }
    shared.end();
  });
  std::pair<std::int64_t, std::int64_t> last{};
  const auto look = [&] {
    try {
      if (PyErr_CheckSignals() != 0) throw py::error_already_set();
      for (const std::string& line : shared.told()) {
        if (!tell.is_none()) tell(line);
      }
      if (progress.is_none() || shared.shown() == last) return;
      last = shared.shown();
      progress(last.first, last.second);
    } catch (py::error_already_set& error) {
      raised.emplace(error);
      shared.stop();
    }
  };
  for (bool ended = false; !ended;) {
    {
      const py::gil_scoped_release released;
      ended = raised ? (worker.join(), true) : shared.ends_within(kPollInterval);
    }
    if (!raised) look();
  }
  if (worker.joinable()) {
    const py::gil_scoped_release released;
    worker.join();
  }
  if (raised) throw py::error_already_set(*raised);
  if (failure) std::rethrow_exception(failure);
}

NamedAnswer asked(const std::string& name, const std::string& arguments, const py::object& progress,
                  const py::object& tell) {
  NamedAnswer answer;
  run_beside(
      [&](Shared& shared) {
        answer = ask(name, Json::parse(arguments),
                     {.progress = [&](std::int64_t done,
                                      std::int64_t total) { return shared.show(done, total); },
                      .stopped = [&] { return shared.stopped(); },
                      .tell = [&](const std::string& line) { shared.tell(line); }});
      },
      progress, tell);
  return answer;
}

/// Empty where the answer has no figures or this build cannot draw.
std::string svg(const NamedAnswer& answer, const std::string& title) {
  if (!answer.figures || !has_charts()) return {};
  std::string drawn;
  run_beside(
      [&](Shared&) {
        const std::vector<Figure> figures = answer.figures();
        if (!figures.empty()) drawn = stacked_svg(title, figures);
      },
      py::none(), py::none());
  return drawn;
}

/// [{"heading", "lines", "table": {"title", "columns", "right", "rows"}}]
Json sections_json(const NamedAnswer& answer) {
  Json sections = Json::array();
  for (const Section& section : answer.document.sections) {
    Json columns = Json::array(), right = Json::array(), rows = Json::array();
    for (const Column& column : section.table.columns) {
      columns.push_back(column.title);
      right.push_back(column.right);
    }
    for (const auto& row : section.table.rows) {
      Json cells = Json::array();
      for (const Cell& cell : row) cells.push_back(with_json_keys(cell.text));
      rows.push_back(std::move(cells));
    }
    Json lines = Json::array();
    for (const std::string& line : section.lines) lines.push_back(with_json_keys(line));
    sections.push_back({{"heading", with_json_keys(section.heading)},
                        {"lines", std::move(lines)},
                        {"table",
                         {{"title", section.table.title},
                          {"columns", std::move(columns)},
                          {"right", std::move(right)},
                          {"rows", std::move(rows)}}}});
  }
  return sections;
}

const char* form_name(const Argument& argument) {
  if (takes_list(argument)) return "list";
  switch (argument.form) {
    case FlagForm::value:
    case FlagForm::on_off:
      return "on_off";
    case FlagForm::toggle:
      return "toggle";
    case FlagForm::list:
    case FlagForm::repeated:
      break;
  }
  return "value";
}

/// The tables of all questions, for signatures, documentation and stubs.
Json questions_json() {
  Json all = Json::array();
  for (const NamedQuestion& question : named_questions()) {
    Json arguments = Json::array();
    for (const Argument& argument : question.arguments) {
      Json aliases = Json::array();
      for (const std::string_view alias : argument.aliases) {
        if (alias.starts_with("--")) aliases.push_back(key_of(alias.substr(2)));
      }
      arguments.push_back({{"name", key_of(argument.name)},
                           {"form", form_name(argument)},
                           {"placeholder", std::string(argument.placeholder)},
                           {"help", with_json_keys(std::string(argument.help))},
                           {"aliases", std::move(aliases)},
                           {"required", argument.required}});
    }
    all.push_back({{"name", question.name},
                   {"summary", question.summary},
                   {"answer_class", question.answer_class},
                   {"arguments", std::move(arguments)},
                   {"answer", question.answer_schema()}});
  }
  return all;
}

int run_main(const std::vector<std::string>& arguments) {
  std::vector<const char*> argv;
  for (const std::string& argument : arguments) argv.push_back(argument.c_str());
  const py::gil_scoped_release released;
  const int code = run_program(static_cast<int>(argv.size()), argv.data(), std::cout, std::cerr);
  std::cout.flush();
  std::cerr.flush();
  return code;
}

PYBIND11_MODULE(_native, module) {
  module.attr("__version__") = kVersion;
  // Made once, never freed: exceptions outlive the module's own end.
  static const py::object error = py::exception<Error>(module, "RoofcastError", PyExc_RuntimeError);
  static const py::object usage_error = [&] {
    const py::tuple bases = py::make_tuple(
        error, py::reinterpret_borrow<py::object>(reinterpret_cast<PyObject*>(PyExc_ValueError)));
    py::object made = py::reinterpret_steal<py::object>(
        PyErr_NewException("roofcast._native.UsageError", bases.ptr(), nullptr));
    module.attr("UsageError") = made;
    return made;
  }();
  py::register_exception_translator([](std::exception_ptr thrown) {
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const UsageError& failure) {
      PyErr_SetString(usage_error.ptr(), with_json_keys(failure.what()).c_str());
    } catch (const Error& failure) {
      PyErr_SetString(error.ptr(), with_json_keys(failure.what()).c_str());
    }
  });
  py::class_<NamedAnswer>(module, "Answer")
      .def_readonly("code", &NamedAnswer::code)
      .def("json", [](const NamedAnswer& answer) { return text_of(answer.document.machine); })
      .def("text", [](const NamedAnswer& answer) { return text_with_json_keys(answer.document); })
      .def("sections", [](const NamedAnswer& answer) { return text_of(sections_json(answer)); })
      .def("svg", svg, py::arg("title"))
      .def("write_requests", [](const NamedAnswer& answer, const std::string& path) {
        const py::gil_scoped_release released;
        answer.write_requests(path);
      });
  module.def("ask", asked, py::arg("name"), py::arg("arguments"), py::arg("progress") = py::none(),
             py::arg("tell") = py::none());
  module.def("questions", [] { return text_of(questions_json()); });
  module.def("main", run_main, py::arg("argv"));
}

}  // namespace
}  // namespace roofcast::python
