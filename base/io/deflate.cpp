#include "base/io/deflate.hpp"

#include <boost/iostreams/device/array.hpp>
#include <boost/iostreams/device/back_inserter.hpp>
#include <boost/iostreams/filter/zlib.hpp>
#include <boost/iostreams/filtering_streambuf.hpp>
#include <exception>

#include "base/error.hpp"

namespace roofcast {

namespace {

namespace streams = boost::iostreams;

// Large enough for one call to do most of the work.
constexpr std::streamsize kBuffer = 65'536;

}  // namespace

std::string deflated(std::string_view bytes) {
  std::string result;
  streams::filtering_streambuf<streams::output> filter;
  filter.push(streams::zlib_compressor(streams::zlib::best_compression), kBuffer);
  filter.push(streams::back_inserter(result));
  filter.sputn(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  filter.reset();  // flushes and closes
  return result;
}

std::string inflated(std::string_view bytes, std::size_t size, const std::string& where) {
  std::string result(size + 1, '\0');  // one more byte would be one too many
  std::streamsize count = 0;
  try {
    streams::filtering_streambuf<streams::input> filter;
    filter.push(streams::zlib_decompressor(), kBuffer);
    filter.push(streams::array_source(bytes.data(), bytes.size()));
    count = filter.sgetn(result.data(), static_cast<std::streamsize>(result.size()));
  } catch (const std::exception&) {
    count = -1;
  }
  if (count != static_cast<std::streamsize>(size)) {
    throw Error(where + ": compressed data are damaged or truncated");
  }
  result.resize(size);
  return result;
}

}  // namespace roofcast
