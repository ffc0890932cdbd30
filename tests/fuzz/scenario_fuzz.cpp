// libFuzzer target: for any text, parse_scenario gives a scenario that is written and read back to
// the same text, or one Error.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "base/error.hpp"
#include "simulator/io/scenario_reader.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  std::string written;
  try {
    written = roofcast::to_json(roofcast::parse_scenario(text, "s.json"));
  } catch (const roofcast::Error& error) {
    if (std::string(error.what()).find('\n') != std::string::npos) std::abort();
    return 0;
  }
  // An Error from here on is a finding: what the program writes it must read.
  if (roofcast::to_json(roofcast::parse_scenario(written, "s.json")) != written) std::abort();
  return 0;
}
