#include "reports/importers/importer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <set>
#include <span>
#include <sstream>
#include <utility>

#include "base/error.hpp"
#include "base/io/shown.hpp"
#include "base/joined.hpp"
#include "base/text.hpp"
#include "reports/importers/consistency.hpp"
#include "reports/importers/formats.hpp"
#include "reports/importers/result_folder.hpp"
#include "reports/importers/setting_keys.hpp"
#include "reports/importers/text_formats.hpp"

namespace roofcast {
namespace {

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

/// Whether the text starts like JSON: a brace, or a bracket and a brace for a list of objects.
bool looks_like_json(std::string_view head) {
  head = without_byte_order_mark(head);
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

/// Searches the whole file, because a log may identify itself only after long progress bars.
/// Returns nullopt if the format is unknown or the file is over 64 MiB.
std::optional<MeasuredRuns> read_by_later_content(ByteSource& bytes, const ImportOptions& options) {
  constexpr std::size_t kMaxBytes = std::size_t{64} << 20;
  constexpr std::size_t kPiece = std::size_t{1} << 16;
  std::string all;
  for (std::size_t count = kPiece; count > 0 && all.size() <= kMaxBytes;) {
    const std::size_t before = all.size();
    all.resize(before + kPiece);
    count = bytes.read(all.data() + before, kPiece);
    all.resize(before + count);
  }
  if (all.size() > kMaxBytes) return std::nullopt;
  const TextFormat* text = matching(text_formats(), std::string_view(all));
  if (text == nullptr) return std::nullopt;
  std::istringstream stream(std::move(all));
  ByteSource copy(stream, bytes.name());
  return text->read(copy, options);
}

/// Returns nullopt if the format is unknown.
std::optional<MeasuredRuns> read_by_content(ByteSource& bytes, const ImportOptions& options) {
  const bool json = looks_like_json(bytes.peek());
  // Text formats are recognised by words that a JSON file may also contain, so JSON is not tried as
  // text, except for an answer of Prometheus's HTTP API.
  const TextFormat* text =
      json && !is_prometheus(bytes.peek()) ? nullptr : matching(text_formats(), bytes.peek());
  if (text != nullptr) return text->read(bytes, options);
  if (!json) return read_by_later_content(bytes, options);
  ResultObjects objects(bytes);
  const nlohmann::json* first = objects.first();
  const JsonFormat* format = first == nullptr ? nullptr : matching(json_formats(), *first);
  return format == nullptr ? std::nullopt : std::optional(format->read(objects));
}

MeasuredRuns read_as(const std::string& name, ByteSource& bytes, const ImportOptions& options) {
  if (const TextFormat* text = named(text_formats(), name)) return text->read(bytes, options);
  const JsonFormat* format = named(json_formats(), name);
  if (format == nullptr) {
    throw Error(fmt::format("unknown format '{}', expected one of {}", shown(name),
                            fmt::join(measured_formats(), ", ")));
  }
  ResultObjects objects(bytes);
  return format->read(objects);
}

void apply_meta(MeasuredRun& run, const ImportOptions& options) {
  for (const auto& [key, value] : options.meta) {
    run.setting.other.erase(key);
    set_strictly(run.setting, key, value, "`meta`");
  }
}

/// Reads one file into its entry of `runs`.
void read_into(const ResultFile& file, const ImportOptions& options, MeasuredRuns& runs,
               FolderReading& reading) {
  try {
    auto found = read_measured_file(file.path, options);
    if (found) runs = *std::move(found);
  } catch (const Error& error) {
    reading.broken.push_back({file.path, error.what()});
  }
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

FolderReading read_folder(const std::string& path, const ImportOptions& options) {
  FolderReading reading;
  const std::vector<ResultFile> files = result_files(path);
  std::map<std::string, MeasuredRuns> runs;  // by file
  std::set<std::string> settled;
  // A file that repeats others is settled only after them, when it is known whether they hold runs.
  // There are no cycles: each file repeats only files with more detail.
  const std::function<void(const ResultFile&)> settle = [&](const ResultFile& file) {
    if (!settled.insert(file.path).second) return;
    for (const std::string& original : file.repeats) {
      const auto found = std::lower_bound(
          files.begin(), files.end(), original,
          [](const ResultFile& one, const std::string& wanted) { return one.path < wanted; });
      settle(*found);
      if (runs[original].empty()) continue;
      reading.passed_over.push_back({file.path, original});
      return;
    }
    read_into(file, options, runs[file.path], reading);
  };
  for (const ResultFile& file : files) settle(file);
  for (auto& [file, found] : runs) {
    std::move(found.begin(), found.end(), std::back_inserter(reading.runs));
  }
  return reading;
}

std::vector<MeasuredRun> read_measured(const std::string& path, const ImportOptions& options) {
  FolderReading reading = read_folder(path, options);
  if (!reading.broken.empty()) throw Error(reading.broken.front().problem);
  if (!reading.runs.empty()) return std::move(reading.runs);
  throw Error(fmt::format("{}: contains no result of a known format, expected one of {}", path,
                          fmt::join(measured_formats(), ", ")));
}

std::string passed_over_note(const FolderReading& reading) {
  constexpr std::size_t kNamed = 4;
  const auto& all = reading.passed_over;
  if (all.empty()) return {};
  std::string note =
      all.size() == 1
          ? "1 file skipped, because it repeats the runs of another: "
          : fmt::format("{} files skipped, because they repeat the runs of others: ", all.size());
  note += joined(std::span(all).first(std::min(all.size(), kNamed)),
                 [](const auto& file) { return fmt::format("{} ({})", file.path, file.original); });
  return all.size() > kNamed ? note + ", ..." : note;
}

}  // namespace roofcast
