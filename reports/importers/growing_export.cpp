#include "reports/importers/growing_export.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <limits>
#include <sstream>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "base/io/shown.hpp"
#include "base/text.hpp"

namespace roofcast {
namespace {

constexpr std::size_t kTailBytes = 64;
constexpr double kForever = std::numeric_limits<double>::infinity();
constexpr double kStaleAfter = 300;  // seconds: Prometheus's query.lookback-delta

/// How Prometheus begins an answer, in its own line.
constexpr std::string_view kNextAnswer = "\n{\"status\":";

constexpr const char* kBrokenOff = "an answer is broken off";

using SampleList = std::vector<std::pair<double, double>>;

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

/// Whether an object or list may follow `c` within JSON.
bool may_precede_value(char c) { return c == ':' || c == ',' || c == '['; }

/// Leaves those later than `time` and the last before them.
void forget_before(SampleList& samples, double time) {
  const auto rest = std::find_if(samples.begin(), samples.end(),
                                 [&](const auto& sample) { return sample.first > time; });
  if (rest != samples.begin()) samples.erase(samples.begin(), std::prev(rest));
}

/// Adds the answers in `part`. Throws Error if it is none, and then adds nothing.
void read_part(const ExportPart& part, const std::string& path, ScrapeRange& read) {
  const std::string name = fmt::format("{}, line {}", path, part.line);
  if (!part.problem.empty()) throw Error(fmt::format("{}: {}", name, part.problem));
  std::istringstream text(part.text);
  ByteSource bytes(text, name);
  for (const auto& [metric, all] : read_range(bytes).series) {
    for (const auto& [labels, samples] : all) {
      auto& known = read.series[metric][labels];
      known.insert(known.end(), samples.begin(), samples.end());
    }
  }
}

void sort_by_time(ScrapeRange& range) {
  for (auto& [name, all] : range.series) {
    for (auto& [labels, samples] : all) {
      std::stable_sort(samples.begin(), samples.end(),
                       [](const auto& one, const auto& other) { return one.first < other.first; });
    }
  }
}

}  // namespace

void ExportSplitter::begin(char byte) {
  const bool json = byte == '{' || byte == '[';
  state_ = json ? State::answer : State::line;
  part_.text = byte;
  part_.line = line_;
  depth_ = 1;
  last_ = byte;
}

ExportPart ExportSplitter::end(State next) {
  state_ = next;
  quoted_ = escaped_ = false;
  return std::exchange(part_, {});
}

std::optional<ExportPart> ExportSplitter::push(char byte) {
  if (byte == '\n') ++line_;
  if (state_ == State::between || state_ == State::skipped) {
    if (state_ == State::skipped && byte == '\n') state_ = State::between;
    if (state_ == State::between && !is_space(byte)) begin(byte);
    return std::nullopt;
  }
  if (byte == '\n' && state_ == State::line) {
    part_.problem =
        fmt::format("'{}' is not an answer of Prometheus's HTTP API", shown(trimmed(part_.text)));
    return end(State::between);
  }
  if (byte == '\n' && quoted_) {
    part_.problem = kBrokenOff;
    return end(State::between);
  }
  const bool opens = !quoted_ && (byte == '{' || byte == '[');
  const bool closes = !quoted_ && (byte == '}' || byte == ']');
  if (state_ == State::answer && opens && !may_precede_value(last_)) {
    part_.problem = kBrokenOff;
    ExportPart broken = end(State::between);
    begin(byte);
    return broken;
  }
  if (part_.text.size() >= most_bytes_) {
    part_.problem = fmt::format("an answer does not end within {} bytes", most_bytes_);
    return end(State::skipped);
  }
  part_.text += byte;
  if (state_ == State::line) return std::nullopt;
  if (byte == '"' && !escaped_) quoted_ = !quoted_;
  escaped_ = quoted_ && byte == '\\' && !escaped_;
  if (!is_space(byte)) last_ = byte;
  if (opens) ++depth_;
  if (part_.text.front() == '{' && byte == ':' && part_.text.ends_with(kNextAnswer)) {
    part_.problem = kBrokenOff;
    ExportPart broken = end(State::between);
    begin('{');
    part_.text = kNextAnswer.substr(1);
    last_ = ':';
    return broken;
  }
  if (closes && --depth_ == 0) return end(State::between);
  return std::nullopt;
}

GrowingExport::GrowingExport(std::string path, std::size_t longest_answer)
    : path_(std::move(path)), longest_answer_(longest_answer), splitter_(longest_answer) {
  if (ByteSource(path_).peek().empty()) return;  // nothing is exported yet
  std::ifstream file(path_, std::ios::binary);
  if (file.get() == 0x1f && file.get() == 0x8b) {
    throw Error(path_ + ": is compressed, expected plain JSON, which can be read while it grows");
  }
}

/// Reads what the file holds beyond the bytes already read; all of it if it was written again.
/// Empty while there is no such file.
std::string GrowingExport::read_bytes() {
  std::ifstream file(path_, std::ios::binary);
  if (!file) return {};
  const auto known = static_cast<std::streamoff>(tail_.size());
  file.seekg(bytes_read_ - known);
  std::string tail(tail_.size(), '\0');
  file.read(tail.data(), known);
  if (!file || tail != tail_) {
    file.clear();
    file.seekg(0);
    bytes_read_ = 0;
    tail_.clear();
    splitter_ = ExportSplitter(longest_answer_);
  }
  std::string bytes(std::istreambuf_iterator<char>(file), {});
  bytes_read_ += std::ssize(bytes);
  tail_ += bytes;
  if (tail_.size() > kTailBytes) tail_.erase(0, tail_.size() - kTailBytes);
  return bytes;
}

std::vector<std::string> GrowingExport::read_more() {
  std::vector<std::string> passed_over;
  ScrapeRange read;
  for (const char byte : read_bytes()) {
    const auto part = splitter_.push(byte);
    if (!part) continue;
    try {
      read_part(*part, path_, read);
    } catch (const Error& error) {
      if (said_.insert(error.what()).second) passed_over.emplace_back(error.what());
    }
  }
  sort_by_time(read);
  add(read);
  return passed_over;
}

void GrowingExport::add(const ScrapeRange& read) {
  for (const auto& [name, all] : read.series) {
    for (const auto& [labels, samples] : all) {
      if (samples.empty()) continue;
      auto& known = samples_.series[name][labels];
      const bool is_new = known.empty();
      append_later(known, samples);
      if (taken_ && is_new) forget_before(known, *begin_s_);  // drops what was taken
      if (taken_ && known.back().first < *begin_s_ - kStaleAfter) {
        samples_.series[name].erase(labels);
        continue;
      }
      if (!taken_) begin_s_ = std::min(begin_s_.value_or(kForever), known.front().first);
      end_s_ = std::max(end_s_.value_or(-kForever), known.back().first);
    }
  }
}

ScrapeRange GrowingExport::take_until(double time) {
  ScrapeRange taken;
  for (auto& [name, all] : samples_.series) {
    for (auto series = all.begin(); series != all.end();) {
      auto& [labels, samples] = *series;
      const auto rest = std::find_if(samples.begin(), samples.end(),
                                     [&](const auto& sample) { return sample.first > time; });
      const bool known = rest != samples.begin();
      const double last = known ? std::prev(rest)->first : kForever;
      const bool ended = rest == samples.end() && last < time - kStaleAfter;
      if (known && (!taken_ || last > *begin_s_)) {
        taken.series[name][labels].assign(samples.begin(), rest);
        samples.erase(samples.begin(), std::prev(rest));
      } else if (ended) {
        series = all.erase(series);
        continue;
      }
      ++series;
    }
  }
  std::erase_if(samples_.series, [](const auto& metric) { return metric.second.empty(); });
  begin_s_ = time;
  taken_ = true;
  return taken;
}

/// The earliest time by which all counters have a sample that is far enough.
std::optional<double> GrowingExport::end_of_part(double seconds) const {
  if (!begin_s_) return std::nullopt;
  const double least = *begin_s_ + seconds;
  const double most = least + seconds;
  if (*end_s_ < least) return std::nullopt;
  double end = -kForever;
  double first_of_all = kForever;
  for (const auto& [name, all] : samples_.series) {
    for (const auto& [labels, samples] : all) {
      const auto far = std::find_if(samples.begin(), samples.end(),
                                    [&](const auto& sample) { return sample.first >= least; });
      const double first = far == samples.end() ? kForever : far->first;
      first_of_all = std::min(first_of_all, first);
      if (!counts_up(name)) continue;
      if (first < most) end = std::max(end, first);
      if (first >= most && *end_s_ < most) return std::nullopt;
    }
  }
  return end > -kForever ? end : first_of_all;
}

std::optional<ScrapeRange> GrowingExport::take(double seconds) {
  const auto end = end_of_part(seconds);
  return end ? std::optional(take_until(*end)) : std::nullopt;
}

std::optional<ScrapeRange> GrowingExport::take_rest() {
  if (!begin_s_ || *end_s_ <= *begin_s_) return std::nullopt;
  return take_until(*end_s_);
}

}  // namespace roofcast
