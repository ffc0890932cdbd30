// All formats that can be read: what tells them, and what reads them.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "model/io/text/byte_source.hpp"
#include "reports/importers/importer.hpp"
#include "reports/importers/result_objects.hpp"

namespace roofcast {

using MeasuredRuns = std::vector<MeasuredRun>;

/// A format of JSON objects. `matches` sees the first object of a file.
struct JsonFormat {
  std::string_view name;
  bool (*matches)(const nlohmann::json& first);
  MeasuredRuns (*read)(ResultObjects& objects);
};

/// In the order in which they are tried.
std::span<const JsonFormat> json_formats();

/// Reads a file whose objects are a result each.
template <void (*read_one)(const JsonFields&, MeasuredRuns&)>
MeasuredRuns each_object(ResultObjects& objects) {
  MeasuredRuns runs;
  while (const auto object = objects.next()) read_one(*object, runs);
  return runs;
}

// ---- one file each

bool is_vllm_serve(const nlohmann::json& first);
void read_vllm_serve(const JsonFields& object, MeasuredRuns& runs);

}  // namespace roofcast
