// Reads what other tools measured into MeasuredRun. The format is told by what a file holds, never
// by its name; each is a file of this folder, and the table of all is in formats.cpp.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/io/byte_source.hpp"
#include "reports/measured_run.hpp"

namespace roofcast {

struct ImportOptions {
  std::string format{};  // a name of measured_formats(); empty: told by content
  /// What the files do not say of their setting, under the keys of setting_keys.hpp; wins over what
  /// they say. A key that is not known goes to MeasuredSetting::other.
  std::map<std::string, std::string> meta{};
  std::string since{};  // Prometheus: an earlier scrape of the same server, to be taken off
};

/// The runs of read_folder. Throws Error: a file that cannot be read, is broken or of no known
/// format; a folder with no result in it.
std::vector<MeasuredRun> read_measured(const std::string& path, const ImportOptions& options = {});

struct BrokenFile {
  std::string path{};
  std::string problem{};  // one line, which names the file
};

struct PassedOver {
  std::string path{};
  std::string original{};  // holds the same runs, richer
};

struct FolderReading {
  std::vector<MeasuredRun> runs{};        // in the order of the files' paths
  std::vector<BrokenFile> broken{};       // of a known format, and not to be read
  std::vector<PassedOver> passed_over{};  // tools write one run down several times
};

/// Every run of a file, or of all files below a folder, each once (result_folder.hpp); a file that
/// is broken does not keep the others from being read. Throws Error for a folder that cannot be
/// read.
FolderReading read_folder(const std::string& path, const ImportOptions& options = {});

/// What was passed over, in a line; empty: nothing.
std::string passed_over_note(const FolderReading& reading);

/// Every run of one file; nothing when it is of no known format. Throws Error when it is of one and
/// broken, and for JSON that is none.
std::optional<std::vector<MeasuredRun>> read_measured_file(const std::string& file,
                                                           const ImportOptions& options = {});

/// The same of bytes, whose name stands for the file.
std::optional<std::vector<MeasuredRun>> read_measured_bytes(ByteSource& bytes,
                                                            const ImportOptions& options = {});

/// The names that ImportOptions::format takes.
std::vector<std::string> measured_formats();

}  // namespace roofcast
