#include "reports/importers/importer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>
#include <span>

#include "model/error.hpp"
#include "model/io/text/shown.hpp"
#include "reports/importers/consistency.hpp"
#include "reports/importers/formats.hpp"
#include "reports/importers/setting_keys.hpp"
#include "reports/importers/text_formats.hpp"

namespace roofcast {
namespace {

namespace fs = std::filesystem;

template <class Format>
const Format* named(std::span<const Format> formats, std::string_view name) {
  const auto found = std::find_if(formats.begin(), formats.end(),
                                  [&](const Format& format) { return format.name == name; });
  return found == formats.end() ? nullptr : &*found;
}

template <class Format, class Content>
const Format* matching(std::span<const Format> formats, const Content& content) {
  const auto found = std::find_if(formats.begin(), formats.end(),
                                  [&](const Format& format) { return format.matches(content); });
  return found == formats.end() ? nullptr : &*found;
}

/// JSON begins with a brace, or with a bracket and, of a list of objects, a brace.
bool looks_like_json(std::string_view head) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (head.starts_with(kByteOrderMark)) head.remove_prefix(kByteOrderMark.size());
  const auto skip_blanks = [&] {
    head.remove_prefix(std::min(head.find_first_not_of(" \t\r\n"), head.size()));
  };
  skip_blanks();
  if (head.starts_with('{')) return true;
  if (!head.starts_with('[')) return false;
  head.remove_prefix(1);
  skip_blanks();
  return head.starts_with('{');
}

/// Nothing: of no known format.
std::optional<MeasuredRuns> read_by_content(ByteSource& bytes, const ImportOptions& options) {
  const bool json = looks_like_json(bytes.peek());
  // Texts are told by words that a JSON file may hold as well, but for the answer of an HTTP API.
  const TextFormat* text =
      json && !is_prometheus(bytes.peek()) ? nullptr : matching(text_formats(), bytes.peek());
  if (text != nullptr) return text->read(bytes, options);
  if (!json) return std::nullopt;
  ResultObjects objects(bytes);
  const nlohmann::json* first = objects.first();
  const JsonFormat* format = first == nullptr ? nullptr : matching(json_formats(), *first);
  return format == nullptr ? std::nullopt : std::optional(format->read(objects));
}

MeasuredRuns read_as(const std::string& name, ByteSource& bytes, const ImportOptions& options) {
  if (const TextFormat* text = named(text_formats(), name)) return text->read(bytes, options);
  const JsonFormat* format = named(json_formats(), name);
  if (format == nullptr) {
    throw Error(fmt::format("format '{}' is not known, expected one of {}", shown(name),
                            fmt::join(measured_formats(), ", ")));
  }
  ResultObjects objects(bytes);
  return format->read(objects);
}

void apply_meta(MeasuredRun& run, const ImportOptions& options) {
  for (const auto& [key, value] : options.meta) {
    set_from_key(run.setting, key, value, "--meta");
  }
}

bool has_ending(const std::string& name, std::string_view ending) {
  return name.size() > ending.size() && name.ends_with(ending);
}

/// What tools write beside results.
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

bool is_summary(const std::string& file) {
  const std::string name = fs::path(file).filename().string();
  return name == "summary.json" || name == "summary.csv";
}

/// A sweep's summaries repeat its runs: summary.json those of its folder, summary.csv all below.
bool repeats_runs(const std::string& file, const std::vector<std::string>& files) {
  const std::string folder = fs::path(file).parent_path().string() + "/";
  const bool table = file.ends_with(".csv");
  return std::any_of(files.begin(), files.end(), [&](const std::string& other) {
    const std::string name = fs::path(other).filename().string();
    return other.starts_with(folder) &&
           (name.starts_with("run=") || (table && name == "summary.json"));
  });
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
  std::vector<std::string> kept;
  std::copy_if(files.begin(), files.end(), std::back_inserter(kept), [&](const std::string& file) {
    return !is_summary(file) || !repeats_runs(file, files);
  });
  return kept;
}

}  // namespace

std::vector<std::string> measured_formats() {
  std::vector<std::string> names;
  for (const JsonFormat& format : json_formats()) names.emplace_back(format.name);
  for (const TextFormat& format : text_formats()) names.emplace_back(format.name);
  return names;
}

std::optional<std::vector<MeasuredRun>> read_measured_file(const std::string& file,
                                                           const ImportOptions& options) {
  ByteSource bytes(file);
  return read_measured_bytes(bytes, options);
}

std::optional<std::vector<MeasuredRun>> read_measured_bytes(ByteSource& bytes,
                                                            const ImportOptions& options) {
  auto runs = options.format.empty() ? read_by_content(bytes, options)
                                     : std::optional(read_as(options.format, bytes, options));
  if (!runs) return std::nullopt;
  for (MeasuredRun& run : *runs) {
    apply_meta(run, options);
    check_consistency(run);
  }
  return runs;
}

std::vector<std::string> measured_files(const std::string& path) {
  return fs::is_directory(path) ? files_below(path) : std::vector<std::string>{path};
}

std::vector<MeasuredRun> read_measured(const std::string& path, const ImportOptions& options) {
  std::vector<MeasuredRun> all;
  for (const std::string& file : measured_files(path)) {
    auto runs = read_measured_file(file, options);
    if (runs) std::move(runs->begin(), runs->end(), std::back_inserter(all));
  }
  if (!all.empty()) return all;
  throw Error(fmt::format("{}: holds no result of a known format, expected one of {}", path,
                          fmt::join(measured_formats(), ", ")));
}

}  // namespace roofcast
