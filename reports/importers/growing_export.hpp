// A Prometheus export that grows while it is read: answers of the HTTP API appended to a file, or a
// file written again with more in it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "reports/importers/prometheus_series.hpp"

namespace roofcast {

class GrowingExport {
 public:
  /// Throws Error if the file cannot be read, or is compressed.
  explicit GrowingExport(std::string path);

  /// Reads what was written since the last call, up to the end of the last complete answer; the
  /// rest waits for its end. Samples no later than those already read are left out, so a file may
  /// be written again as a whole. Throws Error, after which the next call goes on behind it, for
  /// what is no answer of Prometheus's HTTP API.
  void read_more();

  /// The samples of the next `seconds`, with each series' last one before them, if what was read
  /// reaches that far. Seconds count from the first sample, then from the end of the last part.
  std::optional<ScrapeRange> take(double seconds);

  /// All samples not yet taken; nullopt if there are none.
  std::optional<ScrapeRange> take_rest();

  const std::string& path() const { return path_; }

 private:
  std::string read_bytes();
  void add(const ScrapeRange& read);
  ScrapeRange take_until(double time);

  std::string path_;
  std::int64_t bytes_read_ = 0;
  std::string tail_{};     // the last bytes read: no longer there if the file was written again
  std::string pending_{};  // of an answer whose end is not there yet
  ScrapeRange samples_{};  // not taken, behind each series' last one that was
  std::optional<double> begin_s_{}, end_s_{};  // of what is not taken; Unix time
};

}  // namespace roofcast
