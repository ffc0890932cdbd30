// Reads a profile key by key with the limits on its values. Internal to gpu_reader.cpp,
// measured_reader.cpp and engine_profile.cpp.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/io/json_reader.hpp"
#include "model/architecture/dtype.hpp"

namespace roofcast {

/// Limits of a number: wide enough for any accelerator and for a calibrated CPU, narrow enough to
/// catch a value in GB, TFLOP/s or microseconds.
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
  std::string name;  // file name or other source, for errors
  std::string text;
  std::string_view kind = "hardware profile";
};

/// Throws a one-line Error unless the text is one JSON object without excessive nesting or repeated
/// keys.
nlohmann::json parse_profile_json(const ProfileText& source);

/// An object of the profile. Errors read "KIND FILE: PATH.KEY: WHAT".
struct ProfileSection : JsonReader {
  ProfileSection(const nlohmann::json& object, std::string path, const ProfileText& text);

  const ProfileText& source;
};

/// The object at a required key.
ProfileSection subsection(const ProfileSection& section, const std::string& key);
/// Refuses unknown keys, naming the nearest known one.
void check_keys(const ProfileSection& section, const std::vector<std::string>& known);

double checked(const ProfileSection& section, const std::string& key, const nlohmann::json& value,
               const Range& range);
double number(const ProfileSection& section, const std::string& key, const Range& range);
std::int64_t whole(const ProfileSection& section, const std::string& key,
                   const nlohmann::json& value, const Range& range);
std::int64_t whole_number(const ProfileSection& section, const std::string& key,
                          const Range& range);
std::string text(const ProfileSection& section, const std::string& key);
/// A list of non-empty strings.
std::vector<std::string> texts(const ProfileSection& section, const std::string& key);
/// Parses `key` itself, or `spelling` found there, as a number format.
DType dtype_key(const ProfileSection& section, const std::string& key);
DType dtype_at(const ProfileSection& section, const std::string& key);

}  // namespace roofcast
