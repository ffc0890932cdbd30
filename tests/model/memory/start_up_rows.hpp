// Start-up logs of real servers (../shared/data/measured/kv_capacity.json), each with the part of
// its deployment that the log describes. Used by tests of the memory rule and of its fit.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/deployment.hpp"

namespace roofcast::test {

struct StartUpRow {
  std::string id;
  std::string group;
  std::string version;
  std::string model;
  bool is_v1 = false;
  bool hybrid = false;
  int pipeline = 1;
  std::optional<Deployment> deployment{};  // nothing when the model's shape is not known
  std::string left_out{};                  // why its KV cache cannot be planned; empty when it can
  std::optional<double> weights_gib{};
  std::optional<double> non_torch_gib{};
  std::optional<double> activation_gib{};
  std::optional<double> kv_gib{};
  std::optional<double> graphs_gib{};
  std::optional<double> kv_tokens{};  // printed, or concurrency * max_model_len
};

/// All rows of the file, in order. The file must exist (SKIP_WITHOUT_SHARED_DATA).
std::vector<StartUpRow> read_start_up_rows();

}  // namespace roofcast::test
