#include "reports/importers/growing_export.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <limits>
#include <sstream>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "base/text.hpp"

namespace roofcast {
namespace {

constexpr std::size_t kTailBytes = 64;
constexpr double kForever = std::numeric_limits<double>::infinity();

/// The bytes of `text` up to the end of its last complete JSON object or list.
std::size_t complete_bytes(std::string_view text) {
  std::size_t end = 0;
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') ++i;
      if (c == '"') quoted = false;
    } else if (c == '"') {
      quoted = true;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if ((c == '}' || c == ']') && --depth <= 0) {
      depth = 0;
      end = i + 1;
    }
  }
  return end;
}

}  // namespace

GrowingExport::GrowingExport(std::string path) : path_(std::move(path)) {
  if (ByteSource(path_).peek().empty()) return;  // nothing is exported yet
  std::ifstream file(path_, std::ios::binary);
  if (file.get() == 0x1f && file.get() == 0x8b) {
    throw Error(path_ + ": is compressed, expected plain JSON, which can be read while it grows");
  }
}

/// What the file holds beyond the bytes already read; all of it if it was written again. Empty
/// while there is no such file.
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
    pending_.clear();
  }
  std::string bytes(std::istreambuf_iterator<char>(file), {});
  bytes_read_ += std::ssize(bytes);
  tail_ += bytes;
  if (tail_.size() > kTailBytes) tail_.erase(0, tail_.size() - kTailBytes);
  return bytes;
}

void GrowingExport::read_more() {
  pending_ += read_bytes();
  const std::string_view head = trimmed(pending_);
  const bool json = head.empty() || head.starts_with('{') || head.starts_with('[');
  const std::size_t complete = json ? complete_bytes(pending_) : pending_.size();
  if (complete == 0) return;
  std::istringstream text(pending_.substr(0, complete));
  pending_.erase(0, complete);
  ByteSource bytes(text, path_);
  add(read_range(bytes));
}

void GrowingExport::add(const ScrapeRange& read) {
  double first = kForever;
  for (const auto& [name, all] : read.series) {
    for (const auto& [labels, samples] : all) {
      auto& known = samples_.series[name][labels];
      for (const auto& sample : samples) {
        if (!known.empty() && sample.first <= known.back().first) continue;
        known.push_back(sample);
        if (!begin_s_) first = std::min(first, sample.first);
        end_s_ = std::max(end_s_.value_or(-kForever), sample.first);
      }
    }
  }
  if (first < kForever) begin_s_ = first;
}

ScrapeRange GrowingExport::take_until(double time) {
  ScrapeRange taken;
  for (auto& [name, all] : samples_.series) {
    for (auto& [labels, samples] : all) {
      const auto rest = std::find_if(samples.begin(), samples.end(),
                                     [&](const auto& sample) { return sample.first > time; });
      if (rest == samples.begin()) continue;
      taken.series[name][labels].assign(samples.begin(), rest);
      samples.erase(samples.begin(), std::prev(rest));
    }
  }
  begin_s_ = time;
  return taken;
}

std::optional<ScrapeRange> GrowingExport::take(double seconds) {
  if (!begin_s_ || *end_s_ < *begin_s_ + seconds) return std::nullopt;
  double time = kForever;  // of the first sample that is far enough
  for (const auto& [name, all] : samples_.series) {
    for (const auto& [labels, samples] : all) {
      const auto far = std::find_if(samples.begin(), samples.end(), [&](const auto& sample) {
        return sample.first >= *begin_s_ + seconds;
      });
      if (far != samples.end()) time = std::min(time, far->first);
    }
  }
  return take_until(time);
}

std::optional<ScrapeRange> GrowingExport::take_rest() {
  if (!begin_s_ || *end_s_ <= *begin_s_) return std::nullopt;
  return take_until(*end_s_);
}

}  // namespace roofcast
