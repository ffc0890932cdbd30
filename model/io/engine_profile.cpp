#include "model/io/engine_profile.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "model/io/profile_section.hpp"

namespace roofcast {
namespace {

constexpr int kSchemaVersion = 1;
constexpr Range kProfileVersion{kSchemaVersion, kSchemaVersion, "(the version this program reads)"};
/// No serving engine needs a minute of host time per step.
constexpr Range kHostTime{0, 60, "seconds"};
constexpr Range kProfileError{0, 1e3, "of the figures"};
constexpr std::string_view kKind = "engine profile";

std::vector<EngineProfile::Value> read_host(const ProfileSection& host) {
  std::vector<std::string> known;
  for (const HostTerm& term : host_terms()) known.emplace_back(term.name);
  check_keys(host, known);
  std::vector<EngineProfile::Value> values;
  for (const HostTerm& term : host_terms()) {
    const std::string key(term.name);
    if (host.has(key)) values.push_back({&term, Seconds{number(host, key, kHostTime)}});
  }
  return values;
}

}  // namespace

bool is_engine_profile_path(const std::string& engine) {
  return engine.find('/') != std::string::npos || engine.ends_with(".json");
}

EngineProfile load_engine_profile(const std::string& path) {
  if (!std::filesystem::is_regular_file(path)) {
    throw Error(fmt::format("{} {}: no such file", kKind, path));
  }
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file) throw Error(fmt::format("{} {}: cannot be read", kKind, path));
  return parse_engine_profile(text, path);
}

EngineProfile parse_engine_profile(const std::string& text, const std::string& where) {
  const ProfileText source{.name = where, .text = text, .kind = kKind};
  const nlohmann::json json = parse_profile_json(source);
  const ProfileSection top{json, "", source};
  check_keys(top,
             {"schema_version", "kind", "name", "preset", "era", "host", "source", "median_error"});
  number(top, "schema_version", kProfileVersion);
  if (roofcast::text(top, "kind") != "engine") top.fail("kind", "must be \"engine\"");
  const char* preset = top.has("era") ? "era" : "preset";  // "era" in profiles of earlier versions
  EngineProfile profile{.name = roofcast::text(top, "name"), .preset = roofcast::text(top, preset)};
  profile.host = read_host(subsection(top, "host"));
  if (top.has("source")) profile.source = roofcast::text(top, "source");
  if (top.has("median_error")) profile.median_error = number(top, "median_error", kProfileError);
  return profile;
}

std::string write_engine_profile(const EngineProfile& profile) {
  nlohmann::ordered_json host = nlohmann::ordered_json::object();
  for (const EngineProfile::Value& value : profile.host) {
    host[std::string(value.term->name)] = value.time.value;
  }
  nlohmann::ordered_json json{{"schema_version", kSchemaVersion},
                              {"kind", "engine"},
                              {"name", profile.name},
                              {"preset", profile.preset},
                              {"host", std::move(host)}};
  if (!profile.source.empty()) json["source"] = profile.source;
  if (profile.median_error > 0) json["median_error"] = profile.median_error;
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace roofcast
