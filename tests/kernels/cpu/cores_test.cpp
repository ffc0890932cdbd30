#include "kernels/cpu/cores.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "kernels/cpu/machine.hpp"

namespace roofcast::kernels::cpu {
namespace {

/// Two performance cores with two hyperthreads each, numbered as Linux does on one socket, and two
/// small cores.
std::vector<CoreFacts> hybrid() {
  return {{.cpu = 0, .core = 0},
          {.cpu = 1, .core = 0},
          {.cpu = 2, .core = 4},
          {.cpu = 3, .core = 4},
          {.cpu = 4, .core = 8, .efficient = true},
          {.cpu = 5, .core = 9, .efficient = true}};
}

TEST(Cores, PerformanceCoresComeFirstThenHyperthreadsThenSmallCores) {
  EXPECT_EQ(core_order(hybrid()), (std::vector<int>{0, 2, 1, 3, 4, 5}));
}

TEST(Cores, OfTwoSocketsEqualNumbersAreDifferentCores) {
  EXPECT_EQ(core_order({{.cpu = 0, .package = 0, .core = 0},
                        {.cpu = 1, .package = 1, .core = 0},
                        {.cpu = 2, .package = 0, .core = 0},
                        {.cpu = 3, .package = 1, .core = 0}}),
            (std::vector<int>{0, 1, 2, 3}));
}

TEST(Cores, APoolHasAThreadForEachPerformanceCoreWithinTheQuota) {
  EXPECT_EQ(usual_threads(hybrid(), std::nullopt), 2);
  EXPECT_EQ(usual_threads(hybrid(), 1.9), 1);
  EXPECT_EQ(usual_threads(hybrid(), 0.5), 1);
  EXPECT_EQ(usual_threads(hybrid(), 8.0), 2);
}

TEST(Cores, SmallCoresAreUsedWhereThereAreNoOthers) {
  EXPECT_EQ(usual_threads({{.cpu = 4, .core = 8, .efficient = true},
                           {.cpu = 5, .core = 9, .efficient = true}},
                          std::nullopt),
            2);
}

TEST(Cores, ListsAndQuotasAreReadAsLinuxWritesThem) {
  EXPECT_EQ(parse_cpu_list("0-2,8\n"), (std::vector<int>{0, 1, 2, 8}));
  EXPECT_TRUE(parse_cpu_list("\n").empty());
  EXPECT_TRUE(parse_cpu_list("").empty());
  EXPECT_EQ(parse_cpu_max("250000 100000\n"), 2.5);
  EXPECT_EQ(parse_cpu_max("max 100000\n"), std::nullopt);
  EXPECT_EQ(parse_cpu_max(""), std::nullopt);
}

TEST(Cores, GroupsOfAnotherControllerDoNotCount) {
  const auto groups = control_groups("3:cpuset:/a\n2:cpu,cpuacct:/b\n0::/c\n", "cpu");
  ASSERT_EQ(groups.size(), 4U);
  EXPECT_EQ(groups[0].folder, "/sys/fs/cgroup/cpu/b");
  EXPECT_FALSE(groups[0].unified);
  EXPECT_EQ(groups[2].folder, "/sys/fs/cgroup/c");
  EXPECT_TRUE(groups[2].unified);
}

TEST(Cores, NodesAreNamedWithTheirCores) {
  EXPECT_EQ(describe_nodes({{.cpu = 0}, {.cpu = 1, .core = 1}}), "1 node");
  EXPECT_EQ(describe_nodes({{.cpu = 0, .node = 0},
                            {.cpu = 1, .node = 0},
                            {.cpu = 2, .node = 1},
                            {.cpu = 4, .node = 1}}),
            "2 nodes: cores 0-1, 2,4");
}

}  // namespace
}  // namespace roofcast::kernels::cpu
