// Reading a profile key by key: what a value may be. Internal to gpu_reader.cpp,
// measured_reader.cpp and engine_profile.cpp.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/io/json_reader.hpp"
#include "model/architecture/dtype.hpp"

namespace roofcast {

/// What a number may be. Wide enough for any accelerator, and for a CPU that was calibrated;
/// narrow enough to catch a value in GB, TFLOP/s or microseconds.
struct Range {
  double low;
  double high;
  std::string_view unit;
};
inline constexpr Range kMemoryRate{1e9, 1e15, "bytes per second"};
inline constexpr Range kClock{1e8, 1e11, "hertz"};
inline constexpr Range kTime{1e-9, 1.0, "seconds"};

/// The profile being read.
struct ProfileText {
  std::string name;  // file name or other place, for errors
  std::string text;
  std::string_view kind = "hardware profile";
};

/// Throws Error, one line, for what is not one JSON object, nests too deep or gives a key twice.
nlohmann::json parse_profile_json(const ProfileText& source);

/// An object of the profile. Errors read "KIND FILE: PATH.KEY: WHAT".
struct ProfileSection : JsonReader {
  ProfileSection(const nlohmann::json& object, std::string path, const ProfileText& source);

  const ProfileText& source;
};

/// The object at a key that has to be there.
ProfileSection subsection(const ProfileSection& section, const std::string& key);
/// Refuses keys that are not among `known`, naming the nearest.
void check_keys(const ProfileSection& section, const std::vector<std::string>& known);

double checked(const ProfileSection& section, const std::string& key, const nlohmann::json& value,
               const Range& range);
double number(const ProfileSection& section, const std::string& key, const Range& range);
std::int64_t whole(const ProfileSection& section, const std::string& key,
                   const nlohmann::json& value, const Range& range);
std::int64_t whole_number(const ProfileSection& section, const std::string& key,
                          const Range& range);
std::string text(const ProfileSection& section, const std::string& key);
/// A list of texts that are not empty.
std::vector<std::string> texts(const ProfileSection& section, const std::string& key);
/// `key` itself, or `spelling` at it, as a number format.
DType dtype_key(const ProfileSection& section, const std::string& key);
DType dtype_at(const ProfileSection& section, const std::string& key);

}  // namespace roofcast
