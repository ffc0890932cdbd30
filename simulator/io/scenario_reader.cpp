#include "simulator/io/scenario_reader.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>

#include "base/error.hpp"
#include "base/io/bounded_json.hpp"
#include "base/io/json_reason.hpp"
#include "base/io/named_pipe.hpp"
#include "simulator/io/length_table_reader.hpp"
#include "simulator/io/scenario_members.hpp"

namespace roofcast {
namespace {

constexpr std::size_t kLargestFile = std::size_t{16} << 20;  // 16 MiB

nlohmann::json parse_json(const std::string& text, const std::string& where) {
  try {
    return parse_bounded<nlohmann::json>(text, where, RepeatedKeys::refused);
  } catch (const nlohmann::json::exception& error) {  // parse_error, out_of_range
    throw Error(fmt::format("{}: is not JSON: {}", where, json_problem(error.what())));
  }
}

}  // namespace

Scenario parse_scenario(const std::string& text, const std::string& where) {
  const nlohmann::json json = parse_json(text, where);
  using namespace scenario_json;
  return Object<Scenario>{}.read(JsonObject(json, where, "", keys_of<Scenario>()));
}

Scenario read_scenario(const std::string& path) {
  refuse_named_pipe(path);
  std::ifstream file(path, std::ios::binary);
  if (!file || std::filesystem::is_directory(path)) {
    throw Error(fmt::format("{}: cannot be read, expected a scenario file", path));
  }
  std::string text(kLargestFile + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > kLargestFile) {
    throw Error(fmt::format("{}: is larger than 16 MiB, expected a scenario file", path));
  }
  Scenario scenario = parse_scenario(text, path);
  resolve_workload_files(scenario, std::filesystem::path(path).parent_path());
  return scenario;
}

void resolve_workload_files(Scenario& scenario, const std::filesystem::path& folder) {
  if (auto* trace = std::get_if<TraceWorkload>(&scenario.workload)) {
    trace->path = (folder / trace->path).lexically_normal().string();
  } else {
    resolve_length_files(std::get<SyntheticWorkload>(scenario.workload), folder);
  }
}

std::string to_json(const Scenario& scenario) {
  const Json json = scenario_json::Object<Scenario>{}.write(scenario);
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace roofcast
