// Real vLLM 0.19 runs replayed: what the simulator says beside what the server measured. The
// measured requests are not part of the project (casys-kaist/LLMServingSim commit 5daddb2, MIT).
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/run_command.hpp"
#include "tests/support/shared_data.hpp"

namespace roofcast::test {
namespace {

using nlohmann::json;

struct MeasuredRun {
  const char* folder;
  const char* flags;  // what the server ran with, from its meta.json
};

struct MeasuredRequest {
  double arrival = 0, ttft = 0, e2e = 0;  // seconds
  std::int64_t input = 0, output = 0;     // tokens

  double tpot() const { return (e2e - ttft) / static_cast<double>(output - 1); }
};

std::vector<MeasuredRequest> read_requests(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::vector<MeasuredRequest> requests;
  for (std::string line; std::getline(file, line);) {
    const json row = json::parse(line);
    const double queued = row["queued_ts"];
    requests.push_back({.arrival = row["arrival_time"],
                        .ttft = row["first_token_ts"].get<double>() - queued,
                        .e2e = row["last_token_ts"].get<double>() - queued,
                        .input = row["input_toks"],
                        .output = row["output_toks"]});
  }
  return requests;
}

void write_trace(const std::vector<MeasuredRequest>& requests) {
  std::ofstream file("trace.csv");
  file << "arrival,input,output\n";
  file.precision(9);
  file << std::fixed;
  for (const MeasuredRequest& request : requests) {
    file << request.arrival - requests.front().arrival << ',' << request.input << ','
         << request.output << '\n';
  }
}

template <class Value>
double mean(const std::vector<MeasuredRequest>& requests, Value value) {
  double sum = 0;
  for (const MeasuredRequest& request : requests) sum += value(request);
  return sum / static_cast<double>(requests.size());
}

class MeasuredRuns : public testing::TestWithParam<MeasuredRun> {};

// Step times of these GPUs are fitted curves of kernels measured by others, known to about 9 % (one
// standard deviation, as `estimate` prints): the mean TPOT must lie within two of them.
TEST_P(MeasuredRuns, MeanTpotIsWithinTwoStandardDeviations) {
  const MeasuredRun& run = GetParam();
  const std::string relative = std::string("vllm_runs/") + run.folder + "/requests.jsonl";
  SKIP_WITHOUT_SHARED_DATA(relative);
  const auto requests = read_requests(shared_data(relative));
  const TemporaryFolder folder;
  write_trace(requests);
  const CommandResult result = run_command(
      std::string("simulate --model llama-3.1-8b --trace trace.csv --no-store -o json ") +
      run.flags);
  ASSERT_THAT(result.exit_code, testing::AnyOf(0, 3)) << result.err;  // 3: it was saturated
  const json answer = json::parse(result.out);
  const auto compare = [&](const char* key, double measured) {
    const double predicted = answer[key]["mean"];
    const double error = predicted / measured - 1.0;
    std::cout << run.folder << " mean " << key << ": measured " << measured << ", predicted "
              << predicted << " (" << 100.0 * error << " %)\n";
    return error;
  };
  compare("ttft_s", mean(requests, [](const MeasuredRequest& r) { return r.ttft; }));
  compare("e2e_s", mean(requests, [](const MeasuredRequest& r) { return r.e2e; }));
  const double error =
      compare("tpot_s", mean(requests, [](const MeasuredRequest& r) { return r.tpot(); }));
  EXPECT_LE(std::abs(error), 2 * 0.09);
}

INSTANTIATE_TEST_SUITE_P(
    Vllm019, MeasuredRuns,
    testing::Values(MeasuredRun{"RTX4090__Llama-3.1-8B",
                                "--gpu rtx-4090 --max-model-len 32768 --max-num-seqs 256 "
                                "--max-num-batched-tokens 2048"},
                    MeasuredRun{"RTXPRO6000__Llama-3.1-8B",
                                "--gpu rtx-pro-6000 --max-num-seqs 128 "
                                "--max-num-batched-tokens 2048"}));

}  // namespace
}  // namespace roofcast::test
