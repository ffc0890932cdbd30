// Reads measurements of other tools into MeasuredRun. The format is recognised by content, never by
// file name; each format is a file of this folder, and the table of all is in formats.cpp.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/io/byte_source.hpp"
#include "reports/measured_run.hpp"

namespace roofcast {

struct ImportOptions {
  std::string format{};  // a name of measured_formats(); empty: recognised by content
  /// Settings that the files do not state, under the keys of setting_keys.hpp; they override what
  /// the files state. Unknown keys go to MeasuredSetting::other.
  std::map<std::string, std::string> meta{};
  std::string since{};  // Prometheus: an earlier scrape of the same server, to be subtracted
};

/// The runs of read_folder. Throws Error if a file cannot be read, is broken or of no known format,
/// or if a folder has no result in it.
std::vector<MeasuredRun> read_measured(const std::string& path, const ImportOptions& options = {});

struct BrokenFile {
  std::string path{};
  std::string problem{};  // one line, with the file's name
};

struct PassedOver {
  std::string path{};
  std::string original{};  // has the same runs in more detail
};

struct FolderReading {
  std::vector<MeasuredRun> runs{};        // in the order of the file paths
  std::vector<BrokenFile> broken{};       // of a known format but unreadable
  std::vector<PassedOver> passed_over{};  // duplicates: tools write one run to several files
};

/// Every run of a file, or of all files below a folder, each once (result_folder.hpp). A broken
/// file does not stop the others from being read. Throws Error if the folder cannot be read.
FolderReading read_folder(const std::string& path, const ImportOptions& options = {});

/// One line on the files that were skipped as duplicates; empty if there are none.
std::string passed_over_note(const FolderReading& reading);

/// Every run of one file; nullopt if its format is unknown. Throws Error if the format is known but
/// the file is broken, and for malformed JSON.
std::optional<std::vector<MeasuredRun>> read_measured_file(const std::string& file,
                                                           const ImportOptions& options = {});

/// The same for a stream of bytes, under the stream's name.
std::optional<std::vector<MeasuredRun>> read_measured_bytes(ByteSource& bytes,
                                                            const ImportOptions& options = {});

/// The names that ImportOptions::format takes.
std::vector<std::string> measured_formats();

}  // namespace roofcast
