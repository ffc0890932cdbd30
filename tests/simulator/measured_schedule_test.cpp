// The scheduler compared with real vLLM 0.19 servers, second by second: running and waiting
// requests, and KV cache use. The measured runs are not part of the project
// (casys-kaist/LLMServingSim commit 5daddb2, MIT). Prints both side by side and plots them into the
// folder of the test run (measured_schedule_NAME.svg).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>

#include "model/engines/engine.hpp"
#include "model/io/gpu_reader.hpp"
#include "model/memory/memory_plan.hpp"
#include "model/step/step_estimate.hpp"
#include "simulator/engine/plain_engine.hpp"
#include "tests/support/shapes.hpp"
#include "tests/support/shared_data.hpp"

namespace roofcast::test {
namespace {

using nlohmann::json;

struct MeasuredServer {
  const char* folder;
  const char* gpu;
  std::int64_t max_num_seqs;
  std::optional<std::int64_t> max_model_len;
  std::optional<std::int64_t> kv_blocks;  // as the server printed; none: as planned
};

/// One of the levels that a server logs once a second.
struct Level {
  double running = 0, waiting = 0;
  double kv_percent = 0;
  std::int64_t preemptions = 0;  // in this second; not measured
};

struct MeasuredSchedule {
  std::vector<RequestRecord> requests;  // in order of arrival; `first_token` is the measured one
  std::vector<Level> levels;
};

MeasuredSchedule read_measured(const std::string& folder) {
  MeasuredSchedule measured;
  std::ifstream requests(shared_data(folder + "/requests.jsonl"));
  double first = -1;
  for (std::string line; std::getline(requests, line);) {
    const json row = json::parse(line);
    const double queued = row["queued_ts"];
    if (first < 0) first = queued;
    RequestRecord& record = measured.requests.emplace_back();
    record.request = {.arrival = to_nanoseconds(Seconds{queued - first}),
                      .input_tokens = row["input_toks"],
                      .output_tokens = row["output_toks"]};
    record.first_token = to_nanoseconds(Seconds{row["first_token_ts"].get<double>() - first});
  }
  std::stable_sort(measured.requests.begin(), measured.requests.end(),
                   [](const RequestRecord& a, const RequestRecord& b) {
                     return a.request.arrival < b.request.arrival;
                   });
  std::ifstream levels(shared_data(folder + "/timeseries.csv"));
  std::string line;
  std::getline(levels, line);  // t,prompt_throughput,gen_throughput,running,waiting,kv_cache_pct
  while (std::getline(levels, line)) {
    std::istringstream fields(line);
    double t = 0, prompt = 0, generated = 0;
    char comma = 0;
    Level& level = measured.levels.emplace_back();
    fields >> t >> comma >> prompt >> comma >> generated >> comma >> level.running >> comma >>
        level.waiting >> comma >> level.kv_percent;
  }
  return measured;
}

/// Runs the requests through the engine and samples its state once a second.
std::vector<Level> simulated_levels(const Replica& replica, std::vector<RequestRecord>& records) {
  TokenGaps gaps(1);
  RequestTable table(records);
  PlainEngine engine(replica, table, gaps);
  std::vector<Level> levels;
  std::int64_t preemptions = 0;
  const auto look_until = [&](Nanoseconds now) {
    while ((std::ssize(levels) + 1) * kSecond <= now) {
      const EngineLoad load = engine.load();
      const auto usable = static_cast<double>(load.blocks_usable);
      levels.push_back({.running = static_cast<double>(load.running),
                        .waiting = static_cast<double>(load.waiting),
                        .kv_percent = 100.0 * static_cast<double>(load.blocks_used) / usable,
                        .preemptions = engine.counters().preemptions - preemptions});
      preemptions = engine.counters().preemptions;
    }
  };
  std::size_t next = 0;
  Nanoseconds now = 0;
  while (true) {
    for (; next < records.size() && records[next].request.arrival <= now; ++next) {
      records[next].queued = records[next].request.arrival;
      table.enter(static_cast<RequestId>(next));
      engine.enqueue(static_cast<RequestId>(next));
    }
    const auto end = engine.start_step(now);
    if (!end && next == records.size()) return levels;
    look_until(end ? *end : records[next].request.arrival);
    now = end ? *end : records[next].request.arrival;
    if (end) engine.finish_step();
  }
}

using Series = std::vector<double>;

Series series_of(const std::vector<Level>& levels, double Level::*value) {
  Series series;
  for (const Level& level : levels) series.push_back(level.*value);
  return series;
}

/// Pearson correlation over the seconds present in both.
double correlation(const Series& a, const Series& b) {
  const std::size_t n = std::min(a.size(), b.size());
  const auto mean = [n](const Series& s) {
    return std::accumulate(s.begin(), s.begin() + static_cast<std::ptrdiff_t>(n), 0.0) /
           static_cast<double>(n);
  };
  const double mean_a = mean(a), mean_b = mean(b);
  double ab = 0, aa = 0, bb = 0;
  for (std::size_t i = 0; i < n; ++i) {
    ab += (a[i] - mean_a) * (b[i] - mean_b);
    aa += (a[i] - mean_a) * (a[i] - mean_a);
    bb += (b[i] - mean_b) * (b[i] - mean_b);
  }
  return ab / std::sqrt(aa * bb);
}

/// Rank of each request in the order of first tokens.
Series first_token_ranks(const std::vector<RequestRecord>& records) {
  std::vector<std::size_t> order(records.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return records[a].first_token < records[b].first_token;
  });
  Series ranks(records.size());
  for (std::size_t i = 0; i < order.size(); ++i) ranks[order[i]] = static_cast<double>(i);
  return ranks;
}

void print_side_by_side(const std::vector<Level>& measured, const std::vector<Level>& simulated) {
  std::cout << "   s  running (simulated)  waiting (simulated)  KV % (simulated)  preempted\n";
  const std::size_t seconds = std::max(measured.size(), simulated.size());
  for (std::size_t i = 0; i < seconds; ++i) {
    const Level m = i < measured.size() ? measured[i] : Level{};
    const Level s = i < simulated.size() ? simulated[i] : Level{};
    std::cout << fmt::format("{:4} {:8} ({:9}) {:8} ({:9}) {:6.1f} ({:9.1f}) {:10}\n", i + 1,
                             m.running, s.running, m.waiting, s.waiting, m.kv_percent, s.kv_percent,
                             s.preemptions);
  }
}

/// One curve, scaled to a panel 800 wide and 160 high.
std::string polyline(const Series& series, double highest, double seconds, const char* colour) {
  std::string points;
  for (std::size_t i = 0; i < series.size(); ++i) {
    points += fmt::format("{:.1f},{:.1f} ", 800.0 * static_cast<double>(i) / seconds,
                          160.0 * (1 - series[i] / highest));
  }
  return fmt::format("<polyline fill=\"none\" stroke=\"{}\" points=\"{}\"/>\n", colour, points);
}

void plot(const std::string& path, const std::vector<Level>& measured,
          const std::vector<Level>& simulated) {
  std::ofstream svg(path);
  svg << "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"860\" height=\"640\" "
         "font-family=\"sans-serif\">\n";
  const auto seconds = static_cast<double>(std::max(measured.size(), simulated.size()));
  const std::pair<const char*, double Level::*> panels[] = {
      {"running requests", &Level::running},
      {"waiting requests", &Level::waiting},
      {"KV cache use, percent", &Level::kv_percent}};
  int top = 30;
  for (const auto& [title, value] : panels) {
    const Series m = series_of(measured, value), s = series_of(simulated, value);
    const double highest = std::max(
        {1.0, *std::max_element(m.begin(), m.end()), *std::max_element(s.begin(), s.end())});
    svg << fmt::format(
        "<g transform=\"translate(30,{})\"><text y=\"-6\">{}, 0 to {:g}, over {:g} "
        "s: measured black, simulated orange</text>\n",
        top, title, highest, seconds);
    svg << "<rect width=\"800\" height=\"160\" fill=\"none\" stroke=\"#ccc\"/>\n"
        << polyline(m, highest, seconds, "black") << polyline(s, highest, seconds, "#d55e00")
        << "</g>\n";
    top += 200;
  }
  svg << "</svg>\n";
}

double peak(const Series& series) { return *std::max_element(series.begin(), series.end()); }

class MeasuredSchedules : public testing::TestWithParam<MeasuredServer> {};

// Step times are fitted curves, a few percent off, and the server samples its state at moments of
// its own: levels are compared in shape. How many run at most is the scheduler's and the cache's
// doing, and is compared to a tenth; how many wait adds up what step times are off, and is printed.
TEST_P(MeasuredSchedules, LevelsFollowTheServers) {
  const MeasuredServer& server = GetParam();
  const std::string folder = std::string("vllm_runs/") + server.folder;
  SKIP_WITHOUT_SHARED_DATA(folder);
  const MeasuredSchedule measured = read_measured(folder);
  Deployment deployment{.model = llama_3_1_8b(), .gpu = load_gpu(server.gpu).gpu};
  EngineOverrides knobs;
  knobs.max_num_seqs = server.max_num_seqs;
  knobs.max_num_batched_tokens = 2048;
  knobs.max_model_len = server.max_model_len;
  knobs.num_gpu_blocks_override = server.kv_blocks;
  deployment.engine = resolve_engine("vllm-0.19", knobs, deployment.model, deployment.gpu, {});
  const MemoryPlan plan = plan_memory(deployment);
  const RooflineStepTime step_time(deployment);
  std::vector<RequestRecord> records = measured.requests;
  for (RequestRecord& record : records) record.first_token = kNever;
  const auto levels = simulated_levels({.engine = deployment.engine,
                                        .layout = plan.layout,
                                        .kv_blocks = plan.kv_blocks,
                                        .step_time = &step_time},
                                       records);
  print_side_by_side(measured.levels, levels);
  plot(fmt::format("measured_schedule_{}.svg", server.folder), measured.levels, levels);

  const Series running = series_of(measured.levels, &Level::running);
  const Series waiting = series_of(measured.levels, &Level::waiting);
  const Series running_here = series_of(levels, &Level::running);
  const Series waiting_here = series_of(levels, &Level::waiting);
  const double order =
      correlation(first_token_ranks(measured.requests), first_token_ranks(records));
  std::cout << fmt::format(
      "{}: peak running {} (simulated {}), peak waiting {} ({}); correlation of running {:.3f}, "
      "waiting {:.3f}, order of first tokens {:.4f}\n",
      server.folder, peak(running), peak(running_here), peak(waiting), peak(waiting_here),
      correlation(running, running_here), correlation(waiting, waiting_here), order);
  EXPECT_NEAR(peak(running_here), peak(running), 0.1 * peak(running));
  EXPECT_GT(correlation(running, running_here), 0.9);
  EXPECT_GT(correlation(waiting, waiting_here), 0.9);
  EXPECT_GT(order, 0.99);
}

INSTANTIATE_TEST_SUITE_P(
    Vllm019, MeasuredSchedules,
    testing::Values(MeasuredServer{"RTX4090__Llama-3.1-8B", "rtx-4090", 256, 32768, 2588},
                    MeasuredServer{"RTXPRO6000__Llama-3.1-8B", "rtx-pro-6000", 128, {}, {}}));

}  // namespace
}  // namespace roofcast::test
