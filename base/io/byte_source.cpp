#include "base/io/byte_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/iostreams/filter/gzip.hpp>
#include <boost/iostreams/filtering_streambuf.hpp>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/error.hpp"
#include "base/io/named_pipe.hpp"

namespace roofcast {
namespace {

constexpr std::size_t kPeeked = 65'536;

std::unique_ptr<std::streambuf> open_file(const std::string& path) {
  if (std::filesystem::is_directory(path)) {
    throw Error(fmt::format("{}: is a folder, expected a file", path));
  }
  refuse_named_pipe(path);
  auto file = std::make_unique<std::filebuf>();
  if (file->open(path, std::ios::in | std::ios::binary) == nullptr) {
    throw Error(fmt::format("{}: cannot be opened: {}", path, std::strerror(errno)));
  }
  return file;
}

/// Checks for the gzip magic number (RFC 1952, section 2.3.1). Leaves the stream at its start.
bool starts_as_gzip(std::streambuf& bytes) {
  constexpr int kFirst = 0x1f, kSecond = 0x8b;
  if (bytes.sgetc() != kFirst) return false;
  bytes.sbumpc();
  const bool gzip = bytes.sgetc() == kSecond;
  bytes.sungetc();
  return gzip;
}

std::unique_ptr<std::streambuf> unzip(std::streambuf& bytes) {
  auto filter = std::make_unique<boost::iostreams::filtering_streambuf<boost::iostreams::input>>();
  filter->push(boost::iostreams::gzip_decompressor());
  filter->push(bytes);
  return filter;
}

}  // namespace

ByteSource::ByteSource(const std::string& path)
    : name_(path), file_(open_file(path)), raw_(file_.get()) {
  if (starts_as_gzip(*raw_)) {
    unzipped_ = unzip(*raw_);
  } else if (path.ends_with(".gz")) {
    throw Error(fmt::format("{}: is not gzip data, although its name ends in .gz", path));
  }
}

ByteSource::ByteSource(std::istream& bytes, std::string name)
    : name_(std::move(name)), raw_(bytes.rdbuf()) {
  if (starts_as_gzip(*raw_)) unzipped_ = unzip(*raw_);
}

ByteSource::~ByteSource() = default;

std::size_t ByteSource::read_source(char* to, std::size_t max) {
  std::streambuf& source = unzipped_ ? *unzipped_ : *raw_;
  try {
    return static_cast<std::size_t>(source.sgetn(to, static_cast<std::streamsize>(max)));
  } catch (const std::exception&) {
    throw Error(fmt::format("{}: gzip data is damaged or truncated", name_));
  }
}

std::string_view ByteSource::peek() {
  if (head_.empty()) {
    head_.resize(kPeeked);
    head_.resize(read_source(head_.data(), kPeeked));
  }
  return std::string_view(head_).substr(given_);
}

std::size_t ByteSource::read(char* to, std::size_t max) {
  if (given_ == head_.size()) return read_source(to, max);
  const std::size_t count = std::min(max, head_.size() - given_);
  std::memcpy(to, head_.data() + given_, count);
  given_ += count;
  return count;
}

}  // namespace roofcast
