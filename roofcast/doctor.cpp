#include "roofcast/doctor.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/error.hpp"
#include "base/joined.hpp"
#include "base/numbers.hpp"
#include "base/wording.hpp"
#include "calibrate/machine.hpp"
#include "model/io/gpu_reader.hpp"
#include "reports/store.hpp"
#include "roofcast/answer_json.hpp"

namespace roofcast {

// ---- the record

template <>
struct EnumNames<FindingState> {
  static constexpr std::array<std::pair<FindingState, std::string_view>, 3> values = {
      {{FindingState::good, "good"},
       {FindingState::missing, "missing"},
       {FindingState::broken, "broken"}}};
};

template <class Visitor>
void members(Visitor& visit, Finding& finding) {
  visit("subject", finding.subject, "what was looked at");
  visit("state", finding.state,
        "missing: only some questions need it; broken: it fails in "
        "its current state");
  visit("found", finding.found, "for people");
  visit("advice", finding.advice, "what to do about it; null: nothing");
}

template <class Visitor>
void members(Visitor& visit, DoctorInputs& inputs) {
  visit("store", inputs.store, "that was looked at; null: none");
}

template <class Visitor>
void members(Visitor& visit, DoctorAnswer& answer) {
  members(visit, answer.head);
  visit("inputs", answer.inputs, "the question as understood");
  visit("findings", answer.findings, "one for each subject");
}

namespace {

constexpr const char* kDoctorCommand = "doctor";
namespace fs = std::filesystem;

Finding pictures_of(const DoctorQuestion& question) {
  if (question.charts && question.png) {
    return {.subject = "pictures", .found = "pages, SVG and PNG"};
  }
  Finding finding{.subject = "pictures", .state = FindingState::missing};
  finding.found = question.charts ? "pages and SVG, no PNG" : "none";
  finding.advice = question.charts ? "PNG needs librsvg (Debian: librsvg2-2)"
                                   : "this build has no charts (ROOFCAST_CHARTS=OFF)";
  return finding;
}

std::string versions_of(const kernels::DeviceFacts& device) {
  return joined(device.versions,
                [](const auto& one) { return fmt::format("{} {}", one.first, one.second); });
}

Finding processor_of(const Machine& machine) {
  const kernels::DeviceFacts& cpu = machine.cpu;
  return {
      .subject = "processor",
      .found = fmt::format("{}, {}, {}, {} of memory; {}", cpu.name,
                           counted(cpu.multiprocessors, "core"), cpu.architecture,
                           as_gib(Bytes{static_cast<double>(cpu.memory_bytes)}), versions_of(cpu)),
      .advice = "ten seconds time it: roofcast calibrate --device cpu --quick --out my-cpu.json"};
}

/// The built-in profile of a device; nullopt if there is none.
std::optional<std::string> profile_of(const kernels::DeviceFacts& gpu) {
  try {
    return load_gpu(gpu.name).gpu.name;
  } catch (const Error&) {
    return std::nullopt;
  }
}

void add_gpus(const Machine& machine, std::vector<Finding>& findings) {
  if (machine.gpus.empty()) {
    findings.push_back({.subject = "GPU",
                        .state = FindingState::missing,
                        .found = machine.why_no_gpu,
                        .advice = "only calibrate and measure on a GPU need one; all else works "
                                  "from profiles (roofcast gpus)"});
    return;
  }
  for (const kernels::DeviceFacts& gpu : machine.gpus) {
    const auto profile = profile_of(gpu);
    findings.push_back(
        {.subject = "GPU",
         .found = fmt::format(
             "{}, {}; {}; {}", gpu.name, as_gib(Bytes{static_cast<double>(gpu.memory_bytes)}),
             versions_of(gpu), profile ? "built-in profile " + *profile : "no built-in profile"),
         .advice = "roofcast calibrate --device cuda times its kernels"});
  }
  for (const OptionalLibrary& library : machine.gpu_libraries) {
    const bool there = library.path.has_value();
    Finding finding{.subject = library.name,
                    .state = there ? FindingState::good : FindingState::missing,
                    .found = library.path.value_or("not found")};
    if (!there) {
      finding.advice =
          fmt::format("for {}: install it, or put its folder on LD_LIBRARY_PATH", library.used_for);
    }
    findings.push_back(std::move(finding));
  }
}

Finding profiles_of() {
  return {.subject = "profiles",
          .found = fmt::format("{} built in (roofcast gpus)", gpu_names().size())};
}

/// "3 runs, 1 of them a calibration"
std::string contents_of(const std::string& path) {
  const Store store(path, Store::Mode::read);
  const std::vector<RunRow> runs = store.runs();
  const auto calibrations = std::ranges::count(runs, std::string("calibrate"), &RunRow::kind);
  std::string text = counted(std::ssize(runs), "run");
  if (calibrations > 0) {
    text += fmt::format(", {} of them {}", calibrations,
                        calibrations == 1 ? "a calibration" : "calibrations");
  }
  return text;
}

Finding store_of(const std::string& path) {
  std::error_code failure;
  const fs::path folder = fs::path(path).has_parent_path() ? fs::path(path).parent_path() : ".";
  const bool exists = fs::exists(path, failure);
  const bool file_writable = !exists || access(path.c_str(), W_OK) == 0;
  const bool folder_writable = access(folder.c_str(), W_OK) == 0;
  Finding finding{.subject = "store"};
  try {
    finding.found = exists ? fmt::format("{}: {}", path, contents_of(path))
                           : path + ": not there yet, the first stored run makes it";
  } catch (const Error& error) {
    finding.state = FindingState::broken;
    finding.found = error.what();
    finding.advice = "`store` FILE names another";
    return finding;
  }
  if (file_writable && folder_writable) return finding;
  finding.state = FindingState::broken;
  finding.found += file_writable ? fmt::format("; the folder {} cannot be written", folder.string())
                                 : fmt::format("; {} cannot be written", path);
  finding.advice = "`store` FILE names another place, `no_store` keeps nothing";
  return finding;
}

}  // namespace

DoctorAnswer doctor(const DoctorQuestion& question) {
  DoctorAnswer answer{.head = answer_head(kDoctorCommand)};
  answer.findings.push_back(pictures_of(question));
  const Machine machine = this_machine();
  answer.findings.push_back(processor_of(machine));
  add_gpus(machine, answer.findings);
  answer.findings.push_back(profiles_of());
  if (!question.store.empty()) {
    answer.inputs.store = question.store;
    answer.findings.push_back(store_of(question.store));
  }
  return answer;
}

bool is_yes(const DoctorAnswer& answer) {
  return std::ranges::none_of(answer.findings, [](const Finding& finding) {
    return finding.state == FindingState::broken;
  });
}

Json to_json(const DoctorAnswer& answer) { return record_to_json(answer); }

DoctorAnswer doctor_answer_from_json(const Json& json) {
  return answer_from_json<DoctorAnswer>(json, kDoctorCommand);
}

Json doctor_answer_schema() {
  return schema_document<DoctorAnswer>("What roofcast doctor answers");
}

}  // namespace roofcast
