#include "simulator/io/line_reader.hpp"

#include <fmt/format.h>

#include <boost/iostreams/filter/gzip.hpp>
#include <boost/iostreams/filtering_streambuf.hpp>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "model/error.hpp"

namespace roofcast {
namespace {

constexpr std::size_t kLongestLine = 1'000'000;
constexpr std::int64_t kMostLines = 100'000'000;
constexpr std::size_t kChunk = 65'536;

std::unique_ptr<std::streambuf> open_file(const std::string& path) {
  if (std::filesystem::is_directory(path)) {
    throw Error(fmt::format("{}: is a folder, expected a trace file", path));
  }
  auto file = std::make_unique<std::filebuf>();
  if (file->open(path, std::ios::in | std::ios::binary) == nullptr) {
    throw Error(fmt::format("{}: cannot be opened: {}", path, std::strerror(errno)));
  }
  return file;
}

/// The magic number of RFC 1952, section 2.3.1. Leaves the file at its beginning.
bool starts_as_gzip(std::streambuf& file) {
  constexpr int kFirst = 0x1f, kSecond = 0x8b;
  if (file.sgetc() != kFirst) return false;
  file.sbumpc();
  const bool gzip = file.sgetc() == kSecond;
  file.sungetc();
  return gzip;
}

std::unique_ptr<std::streambuf> unzip(std::streambuf& file) {
  auto filter = std::make_unique<boost::iostreams::filtering_streambuf<boost::iostreams::input>>();
  filter->push(boost::iostreams::gzip_decompressor());
  filter->push(file);
  return filter;
}

}  // namespace

LineReader::LineReader(const std::string& path) : path_(path), file_(open_file(path)) {
  if (starts_as_gzip(*file_)) {
    unzipped_ = unzip(*file_);
  } else if (path.ends_with(".gz")) {
    throw Error(fmt::format("{}: is not gzip data, though its name ends in .gz", path));
  }
}

LineReader::~LineReader() = default;

/// Appends the next piece of the file to the buffer; false at its end.
bool LineReader::fill() {
  buffer_.erase(0, begin_);
  begin_ = 0;
  const std::size_t held = buffer_.size();
  buffer_.resize(held + kChunk);
  std::streambuf& source = unzipped_ ? *unzipped_ : *file_;
  std::streamsize got = 0;
  try {
    got = source.sgetn(buffer_.data() + held, kChunk);
  } catch (const std::exception&) {
    throw Error(
        fmt::format("{}: gzip data is damaged or cut off after line {}", path_, line_number_));
  }
  buffer_.resize(held + static_cast<std::size_t>(got));
  return got > 0;
}

bool LineReader::next(std::string_view& line) {
  std::size_t searched = begin_;
  std::size_t end = buffer_.find('\n', searched);
  while (end == std::string::npos && !at_end_) {
    searched = buffer_.size() - begin_;
    at_end_ = !fill();
    end = buffer_.find('\n', searched);
    if (end == std::string::npos && buffer_.size() > kLongestLine + kChunk) break;
  }
  const bool last = end == std::string::npos;
  if (last && begin_ == buffer_.size()) return false;
  if (last) end = buffer_.size();
  ++line_number_;
  if (end - begin_ > kLongestLine) {
    throw Error(fmt::format("{}:{}: line is longer than {} bytes: is this a CSV file?", path_,
                            line_number_, kLongestLine));
  }
  if (line_number_ > kMostLines) {
    throw Error(fmt::format("{}: has more than {} lines", path_, kMostLines));
  }
  line = std::string_view(buffer_).substr(begin_, end - begin_);
  if (line.ends_with('\r')) line.remove_suffix(1);
  begin_ = last ? end : end + 1;
  return true;
}

}  // namespace roofcast
