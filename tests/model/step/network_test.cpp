// Collectives between nodes and over PCIe against published measurements, and what must hold for
// all of them.
#include <gtest/gtest.h>

#include <cmath>

#include "model/io/gpu_reader.hpp"
#include "model/step/collective.hpp"
#include "tests/model/step/step_time_cases.hpp"

namespace roofcast {
namespace {

using test::round_gpu;

Work collective(Exchange exchange, int ranks, double bytes) {
  return work_of({.family = OperatorFamily::collective, .ranks = ranks, .exchange = exchange},
                 bytes, 0);
}

/// As nccl-tests prints it, in GB/s.
double bus_bandwidth(const Gpu& gpu, int ranks, double bytes) {
  const Work work = collective(Exchange::all_reduce, ranks, bytes);
  return bytes * ring_share(work.exchange, ranks) / estimate(work, gpu).time.value / 1e9;
}

TEST(Network, ThreeNodesWithFourNicsEachReachAllFour) {
  // NVIDIA/nccl-tests issue 119: 24 A100-SXM4-40GB on three nodes, four HDR NICs (25 GB/s) each:
  // 96.45 GB/s at 131,072,008 bytes, 96 being what four NICs do.
  Gpu gpu = load_gpu("a100-sxm-40gb").gpu;
  gpu.nics_per_node = 4;
  EXPECT_NEAR(bus_bandwidth(gpu, 24, 131072008), 96.45, 0.10 * 96.45);
  EXPECT_NEAR(bus_bandwidth(gpu, 24, 8e9), 96, 0.02 * 96);
  // nccl-tests issue 152 has as many on two nodes, where a single HDR NIC of 16 ranks would be 24.
  gpu.nics_per_node = 1;
  EXPECT_NEAR(bus_bandwidth(gpu, 24, 8e9), 24, 0.02 * 24);
}

TEST(Network, HopperNodesReduceInTheirSwitches) {
  // NVIDIA/nccl-tests issue 309: eight H100 with eight 400 Gbit/s NICs a node, 16 GiB: two nodes
  // 470 GB/s, as within one (480); four nodes 365.84.
  const Gpu gpu = load_gpu("h100").gpu;
  // The profile's curve within a node is another machine's: two nodes count relative to it.
  const double inside = bus_bandwidth(gpu, 8, 16 * kGiB);
  EXPECT_NEAR(inside, 480, 0.05 * 480);
  EXPECT_NEAR(bus_bandwidth(gpu, 16, 16 * kGiB) / inside, 470.0 / 480, 0.03);
  EXPECT_NEAR(bus_bandwidth(gpu, 32, 16 * kGiB), 365.84, 0.06 * 365.84);
}

TEST(Network, ASmallMessageTakesItsHops) {
  // NVIDIA/nccl-tests issue 293: all-reduce of 8 to 64 bytes between two nodes with one A100 each
  // takes 17.0 to 17.6 us.
  Gpu gpu = load_gpu("a100-pcie").gpu;
  gpu.gpus_per_node = 1;
  EXPECT_NEAR(estimate(collective(Exchange::all_reduce, 2, 64), gpu).time.value, 17.3e-6, 1.0e-6);
}

TEST(Network, PcieCardsReachWhatNcclDoes) {
  // voipmonitor/rtx6kpro 29f3863, asus-esc8000a-e13p-broadcom-switches.md: four RTX PRO 6000 reach
  // 30.3 GB/s with 32 MB and take 13.5 us for 1 KB with NCCL.
  const Gpu gpu = load_gpu("rtx-pro-6000").gpu;
  EXPECT_NEAR(bus_bandwidth(gpu, 4, 32e6), 30.3, 0.05 * 30.3);
  EXPECT_NEAR(estimate(collective(Exchange::all_reduce, 4, 1024), gpu).time.value, 13.5e-6, 1.5e-6);
}

/// Eight H800 (NVLink of 200 GB/s) and eight 400 Gbit/s NICs a node.
Gpu h800() {
  Gpu gpu = round_gpu();
  gpu.peer = Link{.name = "NVLink 4", .bandwidth = BytesPerSecond{200e9}, .latency = Seconds{}};
  gpu.network = Link{.name = "NIC", .bandwidth = BytesPerSecond{50e9}, .latency = Seconds{5e-6}};
  return gpu;
}

/// Bins that eight picks fall into.
double hit(double bins) { return bins * (1 - std::pow(1 - 1 / bins, 8)); }

TEST(Network, DeepEpHighThroughputKernels) {
  // deepseek-ai/DeepEP dd758ca, legacy.md: 4,096 tokens of 7,168, top 8 in at most four nodes.
  // "GB/s (RDMA)" counts a copy for every node that a token goes to, its own included
  // (test_internode.py, num_rdma_token_sent); within a node every copy counts.
  struct Case {
    int ranks;
    double nodes_at_most;
    double dispatch;
    double combine;
  };
  for (const Case& c :
       {Case{8, 1, 153, 158}, Case{16, 2, 43, 43}, Case{32, 4, 58, 57}, Case{64, 4, 51, 50}}) {
    SCOPED_TRACE(c.ranks);
    const double nodes = c.ranks / 8.0;
    const double reached = hit(std::min(nodes, c.nodes_at_most));
    for (const auto& [token, measured] :
         {std::pair{7168.0 * (1 + 4.0 / 128), c.dispatch}, std::pair{7168.0 * 2, c.combine}}) {
      Work work = collective(Exchange::all_to_all, c.ranks, 4096 * hit(c.ranks) * token);
      if (nodes > 1) work.experts.off_node = reached * (nodes - 1) / nodes / hit(c.ranks);
      const double counted = nodes > 1 ? 4096 * reached * token : work.scale;
      const double rate = counted / estimate(work, h800()).time.value / 1e9;
      EXPECT_NEAR(rate, measured, 0.15 * measured);
    }
  }
}

TEST(Network, DeepEpLowLatencyKernels) {
  // The same document: 128 tokens of 7,168, a copy for each of eight experts; us to dispatch (fp8
  // with scales) and to combine (bf16).
  struct Case {
    int ranks;
    double dispatch;
    double combine;
  };
  for (const Case& c : {Case{8, 77, 114}, Case{16, 118, 195}, Case{32, 155, 273},
                        Case{64, 173, 314}, Case{128, 192, 369}, Case{256, 194, 360}}) {
    SCOPED_TRACE(c.ranks);
    for (const auto& [token, us] :
         {std::pair{7168.0 * (1 + 4.0 / 128), c.dispatch}, std::pair{7168.0 * 2, c.combine}}) {
      Work work = collective(Exchange::all_to_all, c.ranks, 128 * hit(c.ranks) * token);
      work.experts = {.copies_per_expert = 8 / hit(c.ranks), .low_latency_only = true};
      EXPECT_NEAR(estimate(work, h800()).time.value * 1e6, us, 0.12 * us);
    }
  }
}

TEST(Network, AGroupThatTakesOneGpuOfEachNodeHasOneNic) {
  // Two ranks, eight GPUs apart, on two nodes of eight with a 10 GB/s NIC each: a gathered GB needs
  // half of it through one NIC; all 16 ranks share eight.
  Work apart = collective(Exchange::all_gather, 2, 1e9);
  apart.stride = 8;
  EXPECT_DOUBLE_EQ(physical_limit(apart, round_gpu()).value, 0.5e9 / 10e9);
  const Work whole = collective(Exchange::all_gather, 16, 1e9);
  EXPECT_DOUBLE_EQ(physical_limit(whole, round_gpu()).value, 0.5e9 / 80e9);
}

class EveryExchange : public testing::TestWithParam<Exchange> {};

TEST_P(EveryExchange, MoreNicsOrFewerNodesAreNeverSlower) {
  for (const char* name : {"h100", "a100", "rtx-pro-6000", "mi300x"}) {
    Gpu gpu = load_gpu(name).gpu;
    if (!gpu.network) {
      gpu.network =
          Link{.name = "NIC", .bandwidth = BytesPerSecond{25e9}, .latency = Seconds{5e-6}};
    }
    for (double bytes = 64; bytes < 1e10; bytes *= 7) {
      const Work work = collective(GetParam(), 16, bytes);
      SCOPED_TRACE(testing::Message() << name << ", " << bytes << " bytes");
      double last = INFINITY;
      for (const int nics : {1, 2, 4, 8}) {
        gpu.nics_per_node = nics;
        gpu.gpus_per_node = 8;
        const double time = estimate(work, gpu).time.value;
        EXPECT_LE(time, last) << nics << " NICs";
        EXPECT_GE(time, physical_limit(work, gpu).value);
        last = time;
      }
      gpu.gpus_per_node = 16;
      EXPECT_LE(estimate(work, gpu).time.value, last) << "one node";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Network, EveryExchange,
                         testing::Values(Exchange::all_reduce, Exchange::all_gather,
                                         Exchange::reduce_scatter, Exchange::all_to_all));

}  // namespace
}  // namespace roofcast
