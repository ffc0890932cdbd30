#include "reports/importers/importer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "model/error.hpp"
#include "model/io/text/shown.hpp"
#include "reports/importers/consistency.hpp"
#include "reports/importers/formats.hpp"
#include "reports/importers/setting_keys.hpp"

namespace roofcast {
namespace {

namespace fs = std::filesystem;

const JsonFormat* find_format(std::string_view name) {
  for (const JsonFormat& format : json_formats()) {
    if (format.name == name) return &format;
  }
  return nullptr;
}

const JsonFormat* sniff(const nlohmann::json* first) {
  if (first == nullptr) return nullptr;
  for (const JsonFormat& format : json_formats()) {
    if (format.matches(*first)) return &format;
  }
  return nullptr;
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
  constexpr std::array<std::string_view, 5> kEndings = {".json", ".jsonl", ".json.gz", ".jsonl.gz",
                                                        ".ndjson"};
  return std::any_of(kEndings.begin(), kEndings.end(),
                     [&](std::string_view ending) { return has_ending(name, ending); });
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

std::vector<std::string> measured_formats() {
  std::vector<std::string> names;
  for (const JsonFormat& format : json_formats()) names.emplace_back(format.name);
  return names;
}

std::optional<std::vector<MeasuredRun>> read_measured_file(const std::string& file,
                                                           const ImportOptions& options) {
  ByteSource bytes(file);
  return read_measured_bytes(bytes, options);
}

std::optional<std::vector<MeasuredRun>> read_measured_bytes(ByteSource& bytes,
                                                            const ImportOptions& options) {
  if (options.format.empty() && !looks_like_json(bytes.peek())) return std::nullopt;
  ResultObjects objects(bytes);
  const JsonFormat* format =
      options.format.empty() ? sniff(objects.first()) : find_format(options.format);
  if (format == nullptr) {
    if (options.format.empty()) return std::nullopt;
    throw Error(fmt::format("format '{}' is not known, expected one of {}", shown(options.format),
                            fmt::join(measured_formats(), ", ")));
  }
  std::vector<MeasuredRun> runs = format->read(objects);
  for (MeasuredRun& run : runs) {
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
