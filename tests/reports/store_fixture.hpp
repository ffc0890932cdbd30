// Shared by the store's tests: a folder per test, a run to store, and error messages.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <string>

#include "base/error.hpp"
#include "reports/store.hpp"

namespace roofcast::test {

/// Each test has an empty folder, removed afterwards.
class StoreTest : public testing::Test {
 protected:
  using Run = roofcast::Run;  // not testing::Test::Run

  StoreTest() {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::temp_directory_path() /
              (std::string("roofcast_") + info->name() + "_" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
  }
  ~StoreTest() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  std::string path(const std::string& name = "store.db") const { return folder_ / name; }

  std::filesystem::path folder_;
};

/// Opens the store and closes it again, which creates it if absent.
inline void open_store(const std::string& path, Store::Mode mode = Store::Mode::write) {
  const Store opened(path, mode);
}

inline RunRow row_named(const std::string& summary) {
  return {.kind = "simulate",
          .created_at = "2026-01-31T12:00:00Z",
          .tool_version = "0.1.0",
          .command_line = "roofcast simulate chat.json",
          .model = "llama-3.1-70b",
          .gpu = "h200-sxm",
          .engine = "vllm-0.19",
          .scenario_json = R"({"seed":18446744073709551615})",
          .profile_hash = "9f86d081884c7d65",
          .seed = 18446744073709551615u,  // 2^64 - 1: all 64 bits must survive
          .summary = summary};
}

/// `count` requests 0.1 s apart, each scheduled after 20 ms and finished after 120 ms.
inline Run run_of(std::int64_t count, const std::string& summary = "a run") {
  Run run{.row = row_named(summary),
          .metrics = {{.name = "requests_completed",
                       .statistic = "value",
                       .value = static_cast<double>(count)},
                      {.name = "ttft_s", .statistic = "p50", .value = 0.05},
                      {.name = "ttft_s", .statistic = "p95", .value = 0.1}},
          .requests = {}};
  for (std::int64_t i = 0; i < count; ++i) {
    const double arrival = 0.1 * static_cast<double>(i);
    run.requests.push_back({.index = i,
                            .arrival_s = arrival,
                            .sent_s = arrival,
                            .scheduled_s = arrival + 0.02,
                            .first_token_s = arrival + 0.05,
                            .finished_s = arrival + 0.12,
                            .input_tokens = 100 + i,
                            .output_tokens = 8,
                            .preemptions = i % 2,
                            .slo_class = "chat"});
  }
  return run;
}

/// Removes the additions of schemas 5 to 7 from a store.
inline constexpr const char* kWithoutSchema5 =
    "DROP TABLE run_names; DROP TABLE traces; DROP TABLE answers; DROP VIEW latest_runs; DROP VIEW "
    "run_metrics; DROP VIEW gpu_summary;"
    "DROP VIEW error_by_engine; DROP VIEW run_summary;"
    "CREATE VIEW run_summary AS SELECT id AS run_id, kind FROM runs;";

/// The message of the Error that `call` throws; fails the test if there is none.
inline std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  ADD_FAILURE() << "no error";
  return "";
}

inline std::size_t runs_in(const std::string& path) {
  return Store(path, Store::Mode::read).runs().size();
}

}  // namespace roofcast::test
