#include "reports/importers/result_folder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>

#include "base/error.hpp"

namespace roofcast {
namespace {

namespace fs = std::filesystem;

bool has_ending(const std::string& name, std::string_view ending) {
  return name.size() > ending.size() && name.ends_with(ending);
}

/// Files that tools write next to results and that hold none.
bool is_companion(const std::string& name) {
  return name == "warmup.json" || has_ending(name, ".failure.json") ||
         has_ending(name, ".pytorch.json") || has_ending(name, "_prometheus_metrics.json");
}

bool may_hold_results(const std::string& name) {
  constexpr std::array<std::string_view, 11> kEndings = {
      ".json", ".jsonl", ".json.gz", ".jsonl.gz", ".ndjson", ".csv",
      ".txt",  ".log",   ".prom",    ".yaml",     ".yml"};
  return std::any_of(kEndings.begin(), kEndings.end(),
                     [&](std::string_view ending) { return has_ending(name, ending); });
}

/// Two files with the same run. "*" stands for the same text in both names, "#" for a number.
struct Repetition {
  std::string_view copy, original;
};

// The original is the file with more detail: inference-perf's single stages rather than their
// mixture; for aiperf, genai-perf and llmperf the file with model and load rather than requests
// alone; JSON rather than tables made from it.
constexpr std::array kRepetitions = {
    Repetition{"per_request_lifecycle_metrics.json", "stage_#_lifecycle_metrics.json"},
    Repetition{"summary_lifecycle_metrics.json", "stage_#_lifecycle_metrics.json"},
    Repetition{"summary_lifecycle_metrics.json", "per_request_lifecycle_metrics.json"},
    Repetition{"*.jsonl", "*_aiperf.json"},
    Repetition{"*_aiperf.csv", "*.jsonl"},
    Repetition{"*_individual_responses.json", "*_summary.json"},
    Repetition{"*.yaml", "*.json"},
    Repetition{"*.yml", "*.json"},
    Repetition{"*.csv", "*.json"},
    Repetition{"*.csv", "*.yaml"},
    Repetition{"*.csv", "*.yml"},
    Repetition{"summary.json", "run=#.json"},  // vLLM sweep: the runs of this folder
};

/// The text that matches the pattern's "*" or "#" in `name`; nullopt if `name` does not match.
std::optional<std::string> wildcard_in(std::string_view pattern, std::string_view name) {
  const std::size_t place = pattern.find_first_of("*#");
  if (place == std::string_view::npos) {
    return pattern == name ? std::optional(std::string()) : std::nullopt;
  }
  const std::string_view head = pattern.substr(0, place);
  const std::string_view tail = pattern.substr(place + 1);
  if (name.size() <= head.size() + tail.size()) return std::nullopt;
  if (!name.starts_with(head) || !name.ends_with(tail)) return std::nullopt;
  std::string middle(name.substr(head.size(), name.size() - head.size() - tail.size()));
  const bool is_number = std::all_of(middle.begin(), middle.end(),
                                     [](unsigned char c) { return std::isdigit(c) != 0; });
  return pattern[place] == '*' || is_number ? std::optional(std::move(middle)) : std::nullopt;
}

/// Files whose path starts with `folder`; `files` must be sorted.
std::vector<std::string> those_in(const std::vector<std::string>& files,
                                  const std::string& folder) {
  auto begin = std::lower_bound(files.begin(), files.end(), folder);
  const auto end = std::find_if(begin, files.end(),
                                [&](const std::string& file) { return !file.starts_with(folder); });
  return {begin, end};
}

/// Originals in the copy's own folder, if its name matches `known`.
std::vector<std::string> originals_beside(const fs::path& copy, const Repetition& known,
                                          const std::vector<std::string>& files) {
  const auto shared = wildcard_in(known.copy, copy.filename().string());
  if (!shared) return {};
  std::vector<std::string> originals;
  if (const std::size_t star = known.original.find('*'); star != std::string_view::npos) {
    std::string name(known.original);
    const std::string candidate = (copy.parent_path() / name.replace(star, 1, *shared)).string();
    if (std::binary_search(files.begin(), files.end(), candidate)) originals.push_back(candidate);
    return originals;
  }
  for (const std::string& file : those_in(files, copy.parent_path().string() + "/")) {
    const fs::path other(file);
    const bool beside = other.parent_path() == copy.parent_path();
    if (beside && wildcard_in(known.original, other.filename().string())) originals.push_back(file);
  }
  return originals;
}

/// A sweep's summary.csv repeats the runs of all folders below it.
std::vector<std::string> originals_below(const fs::path& table,
                                         const std::vector<std::string>& files) {
  std::vector<std::string> originals;
  if (table.filename() != "summary.csv") return originals;
  for (const std::string& file : those_in(files, table.parent_path().string() + "/")) {
    const std::string name = fs::path(file).filename().string();
    if (name.starts_with("run=") || name == "summary.json") originals.push_back(file);
  }
  return originals;
}

std::vector<std::string> originals_of(const fs::path& copy, const std::vector<std::string>& files) {
  std::vector<std::string> originals = originals_below(copy, files);
  for (const Repetition& known : kRepetitions) {
    for (std::string& found : originals_beside(copy, known, files)) {
      originals.push_back(std::move(found));
    }
  }
  return originals;
}

std::vector<std::string> files_below(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code failure;
  fs::recursive_directory_iterator place(folder, fs::directory_options::skip_permission_denied,
                                         failure);
  for (; !failure && place != fs::recursive_directory_iterator(); place.increment(failure)) {
    const std::string name = place->path().filename().string();
    std::error_code unknown;
    if (!place->is_regular_file(unknown) || is_companion(name) || !may_hold_results(name)) continue;
    files.push_back(place->path().string());
  }
  if (failure) throw Error(fmt::format("{}: cannot be read: {}", folder, failure.message()));
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

std::vector<ResultFile> result_files(const std::string& path) {
  if (!fs::is_directory(path)) return {{.path = path}};
  const std::vector<std::string> files = files_below(path);
  std::vector<ResultFile> results;
  for (const std::string& file : files) {
    results.push_back({.path = file, .repeats = originals_of(file, files)});
  }
  return results;
}

}  // namespace roofcast
