#include "model/curves/curve_source.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>

#include "base/dotted_version.hpp"
#include "base/text.hpp"

namespace roofcast {

namespace {

/// Engines after which sources are named; the others run what was calibrated.
constexpr std::array<std::string_view, 3> kEngines{"vllm", "sglang", "trtllm"};

/// Engines that run AITER's kernels, besides those without kernels of their own.
constexpr std::array<std::string_view, 3> kAiterEngines{"vllm", "sglang", "atom"};

constexpr auto kEnd = std::string_view::npos;

/// An engine and its version, from "vLLM 0.24.0" (separated by a space) or "vllm-0.24".
struct NamedVersion {
  std::string engine{};
  DottedVersion version{};
};

NamedVersion parsed(std::string_view text, char separator) {
  const std::size_t end = text.find(separator);
  NamedVersion result{.engine = lower(text.substr(0, end))};
  if (end != kEnd) result.version = version_of(text.substr(end + 1));
  return result;
}

/// Whether `timed` is not newer than `asked`, compared in the parts that `asked` states: 0.19.2 is
/// not newer than 0.19.
bool is_not_newer(DottedVersion timed, const DottedVersion& asked) {
  timed.resize(std::min(timed.size(), asked.size()));
  return timed <= asked;
}

/// Where a version first differs from another, and by how much: {2, 3} of 0.5.9 from 0.5.12.
/// Compared in the parts that the other states; {their number, 0} if these agree.
struct Distance {
  std::size_t part = 0;
  int by = 0;
};

Distance distance_of(const DottedVersion& timed, const DottedVersion& asked) {
  for (std::size_t i = 0; i < asked.size(); ++i) {
    const int number = i < timed.size() ? timed[i] : 0;
    if (number != asked[i]) return {i, std::abs(number - asked[i])};
  }
  return {asked.size(), 0};
}

/// Whether `a` answers better than `b` for `asked`.
bool is_nearer(const DottedVersion& a, const DottedVersion& b, const DottedVersion& asked) {
  if (asked.empty()) return a > b;
  const Distance from_a = distance_of(a, asked);
  const Distance from_b = distance_of(b, asked);
  if (from_a.part != from_b.part) return from_a.part > from_b.part;
  if (from_a.by != from_b.by) return from_a.by < from_b.by;
  const bool old_a = is_not_newer(a, asked);
  if (old_a != is_not_newer(b, asked)) return old_a;
  return old_a ? a > b : a < b;
}

std::size_t place_of(const std::string& engine) {
  return static_cast<std::size_t>(std::ranges::find(kEngines, engine) - kEngines.begin());
}

/// 0 for the engine asked for, 1 for libraries, then the others in their order.
std::size_t rank_of(const std::string& source, const std::string& asked) {
  const std::size_t place = place_of(source);
  if (place == kEngines.size()) return 1;
  return source == asked ? 0 : 2 + place;
}

}  // namespace

std::string_view source_of(std::string_view kernel) {
  const std::size_t comma = kernel.rfind(", ");
  return comma == kEnd ? kernel : kernel.substr(comma + 2);
}

std::string_view stated_version(std::string_view engine) {
  const std::size_t dash = engine.find('-');
  if (dash == kEnd || engine.find_first_of("0123456789", dash) == kEnd) return {};
  return engine.substr(dash + 1);
}

bool is_of_engine(std::string_view source, std::string_view engine) {
  const std::string asked = parsed(engine, '-').engine;
  return place_of(asked) < kEngines.size() && parsed(source, ' ').engine == asked;
}

bool runs_aiter(std::string_view engine) {
  const std::string asked = parsed(engine, '-').engine;
  const bool has_no_kernels = place_of(asked) == kEngines.size();
  return has_no_kernels || std::ranges::find(kAiterEngines, asked) != kAiterEngines.end();
}

bool runs_kernels_of(std::string_view engine, std::string_view source) {
  return is_of_engine(source, engine) || (source == kAiter && runs_aiter(engine));
}

bool is_engine(std::string_view source) {
  return place_of(parsed(source, ' ').engine) < kEngines.size();
}

std::string_view kernel_owner(std::string_view engine) {
  const NamedVersion asked = parsed(engine, '-');
  const bool built =
      asked.engine == "trtllm" && !asked.version.empty() && asked.version < DottedVersion{1};
  const std::size_t place = built ? kEngines.size() : place_of(asked.engine);
  return kEngines[place < kEngines.size() ? place : 0];
}

bool is_nearer_source(std::string_view a, std::string_view b, std::string_view engine) {
  const NamedVersion asked = parsed(engine, '-');
  const NamedVersion first = parsed(a, ' ');
  const NamedVersion second = parsed(b, ' ');
  const std::size_t rank_a = rank_of(first.engine, asked.engine);
  const std::size_t rank_b = rank_of(second.engine, asked.engine);
  if (rank_a != rank_b) return rank_a < rank_b;
  if (first.engine != second.engine) return first.engine < second.engine;
  const bool own = first.engine == asked.engine;
  return is_nearer(first.version, second.version, own ? asked.version : DottedVersion{});
}

}  // namespace roofcast
