// The memory plan against real start-up logs: weights and KV tokens. Prints every row that was left
// out, with the reason.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "model/memory/memory_plan.hpp"
#include "tests/model/memory/start_up_rows.hpp"
#include "tests/support/shared_data.hpp"

namespace roofcast {
namespace {

using test::StartUpRow;

/// Nearest rank: the smallest value that at least `share` of the values do not exceed.
double quantile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(values.size())));
  return values.at(std::max<std::size_t>(rank, 1) - 1);
}

std::vector<double> magnitudes(const std::vector<double>& errors) {
  std::vector<double> values;
  values.reserve(errors.size());
  for (const double error : errors) values.push_back(std::abs(error));
  return values;
}

void report(const std::string& what, const std::map<std::string, std::vector<double>>& groups) {
  for (const auto& [group, errors] : groups) {
    const std::vector<double> sizes = magnitudes(errors);
    std::printf("%s, %s: %zu rows, median %.2f %%, p90 %.2f %%, worst %.2f %%\n", what.c_str(),
                group.c_str(), errors.size(), 100.0 * quantile(sizes, 0.5),
                100.0 * quantile(sizes, 0.9), 100.0 * quantile(sizes, 1.0));
  }
}

std::vector<double> all_of(const std::map<std::string, std::vector<double>>& groups) {
  std::vector<double> all;
  for (const auto& [group, errors] : groups) all.insert(all.end(), errors.begin(), errors.end());
  return all;
}

Bytes planned_weights(const MemoryPlan& plan) {
  Bytes weights;
  for (const MemoryTerm& term : plan.terms) {
    if (term.name.rfind("weights", 0) == 0) weights += term.bytes;
  }
  return weights;
}

TEST(KvCapacity, WeightsAreWithinOnePercentOfStartUpLogs) {
  SKIP_WITHOUT_SHARED_DATA("measured/kv_capacity.json");
  std::map<std::string, std::vector<double>> groups;
  for (const StartUpRow& row : test::read_start_up_rows()) {
    if (!row.weights_gib) continue;
    if (!row.deployment) {
      std::printf("left out: %s, model shape not known: '%s'\n", row.id.c_str(), row.model.c_str());
      continue;
    }
    const double planned = planned_weights(plan_memory(*row.deployment)).value / kGiB;
    const double error = planned / *row.weights_gib - 1.0;
    std::printf("%-16s %-62s %7.2f logged %7.2f planned %+6.2f %%\n", row.id.c_str(),
                row.model.c_str(), *row.weights_gib, planned, 100.0 * error);
    groups[row.group].push_back(error);
  }
  report("weights", groups);
  const std::vector<double> sizes = magnitudes(all_of(groups));
  ASSERT_GE(sizes.size(), 30u);
  EXPECT_LE(quantile(sizes, 0.5), 0.01);
}

TEST(KvCapacity, TokensOfNonHybridVllmV1RowsAreWithinTheirTarget) {
  SKIP_WITHOUT_SHARED_DATA("measured/kv_capacity.json");
  std::map<std::string, std::vector<double>> groups;
  for (const StartUpRow& row : test::read_start_up_rows()) {
    if (!row.is_v1 || row.hybrid) continue;
    if (!row.left_out.empty() || !(row.kv_tokens || row.kv_gib)) {
      const std::string why = row.left_out.empty() ? "neither KV tokens nor bytes" : row.left_out;
      std::printf("left out: %s, %s\n", row.id.c_str(), why.c_str());
      continue;
    }
    const MemoryPlan plan = plan_memory(*row.deployment);
    const double token_bytes =
        plan.layout.row_bytes().value / static_cast<double>(plan.layout.block_tokens);
    const double logged = row.kv_tokens ? *row.kv_tokens : *row.kv_gib * kGiB / token_bytes;
    const double error = static_cast<double>(plan.kv_tokens) / logged - 1.0;
    std::printf("%-16s %-62s %9.0f logged %9lld planned %+6.2f %% (stated +-%.1f %%)\n",
                row.id.c_str(), row.model.c_str(), logged, static_cast<long long>(plan.kv_tokens),
                100.0 * error, 100.0 * plan.relative_uncertainty);
    groups[row.group].push_back(error);
  }
  report("KV tokens", groups);
  const std::vector<double> sizes = magnitudes(all_of(groups));
  ASSERT_GE(sizes.size(), 25u);
  std::printf("KV tokens, all: %zu rows, median %.2f %%, p90 %.2f %%\n", sizes.size(),
              100.0 * quantile(sizes, 0.5), 100.0 * quantile(sizes, 0.9));
  EXPECT_LE(quantile(sizes, 0.5), 0.03);
  EXPECT_LE(quantile(sizes, 0.9), 0.08);
}

}  // namespace
}  // namespace roofcast
