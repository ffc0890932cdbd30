// A Prometheus export that grows while it is read: answers of the HTTP API appended to a file, or a
// file written again with more in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "reports/importers/prometheus_series.hpp"

namespace roofcast {

/// A JSON object or list, or a line of anything else.
struct ExportPart {
  std::string text{};
  std::int64_t line = 1;  // of the file, where it begins
  std::string problem{};  // why it cannot be read; empty: it may be an answer
};

/// Splits a text into its parts, byte by byte. A part was broken off where a string goes on in the
/// next line, an object or list begins where JSON allows none, or an answer of Prometheus's begins
/// a line within another.
class ExportSplitter {
 public:
  explicit ExportSplitter(std::size_t most_bytes) : most_bytes_(most_bytes) {}

  /// The part that ended with `byte` or before it.
  std::optional<ExportPart> push(char byte);

 private:
  enum class State { between, answer, line, skipped };

  void begin(char byte);
  ExportPart end(State next);

  std::size_t most_bytes_;
  State state_ = State::between;
  int depth_ = 0;
  bool quoted_ = false, escaped_ = false;
  char last_ = 0;  // that was not a space
  std::int64_t line_ = 1;
  ExportPart part_{};
};

class GrowingExport {
 public:
  static constexpr std::size_t kLongestAnswer = std::size_t{1} << 30;  // bytes

  /// `longest_answer`: an answer of more bytes is passed over. Throws Error if the file cannot be
  /// read, or is compressed.
  explicit GrowingExport(std::string path, std::size_t longest_answer = kLongestAnswer);

  /// Reads what was written since the last call, answer by answer; one whose end is not there yet
  /// waits for it. Samples no later than those already read are left out, so a file may be written
  /// again as a whole. Returns a line about each part that is not an answer of Prometheus's HTTP
  /// API, once, and passes over it.
  std::vector<std::string> read_more();

  /// Whether no sample was ever read.
  bool empty() const { return !end_s_; }

  /// The samples of at least the next `seconds`, each series with its last sample before them;
  /// series without a sample in that time are left out, and forgotten after the five minutes after
  /// which Prometheus, too, takes a series for ended. Seconds count from the first sample, then
  /// from the end of the last part. nullopt until every counter was read that far; one that lags
  /// behind the latest sample by more than `seconds` is not waited for.
  std::optional<ScrapeRange> take(double seconds);

  /// All samples not yet taken; nullopt if there are none.
  std::optional<ScrapeRange> take_rest();

  const std::string& path() const { return path_; }

 private:
  std::string read_bytes();
  void add(const ScrapeRange& read);
  std::optional<double> end_of_part(double seconds) const;
  ScrapeRange take_until(double time);

  std::string path_;
  std::size_t longest_answer_;
  std::int64_t bytes_read_ = 0;
  std::string tail_{};  // the last bytes read: no longer there if the file was written again
  ExportSplitter splitter_;
  std::set<std::string> said_{};               // about parts that were passed over
  ScrapeRange samples_{};                      // not taken, behind each series' last one that was
  bool taken_ = false;                         // a part of them
  std::optional<double> begin_s_{}, end_s_{};  // of what is not taken; Unix time
};

}  // namespace roofcast
