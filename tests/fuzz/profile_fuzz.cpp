// libFuzzer target: for any text, parse_gpu gives a profile that is written and read back to the
// same text, or one Error of one line.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "base/error.hpp"
#include "model/io/gpu_reader.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  std::string written;
  try {
    written = roofcast::write_gpu(roofcast::parse_gpu(text, "p.json"));
  } catch (const roofcast::Error& error) {
    if (std::string(error.what()).find('\n') != std::string::npos) std::abort();
    return 0;
  }
  // An Error from here on is a finding: what the program writes it must read.
  if (roofcast::write_gpu(roofcast::parse_gpu(written, "p.json")) != written) std::abort();
  return 0;
}
