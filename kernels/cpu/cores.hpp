// Which cores do the work: what Linux says about them, and the order in which a pool takes them.
// The choice is pure; reading /sys is separate.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace roofcast::kernels::cpu {

struct CoreFacts {
  int cpu = 0;             // as Linux numbers them
  int package = 0;         // socket
  int core = 0;            // of its socket; hyperthreads share one
  int node = 0;            // of NUMA
  bool efficient = false;  // a small core of a processor with two kinds
};

/// "0-3,8" as Linux lists CPUs; empty for other text.
std::vector<int> parse_cpu_list(std::string_view text);

/// CPUs' worth of time that a control group grants: from cpu.max, "200000 100000" is 2, "max
/// 100000" none; nullopt for other text.
std::optional<double> parse_cpu_max(std::string_view text);

/// One hyperthread of each performance core, then their others, then small cores; ascending within
/// each. Threads beyond the first group share a core's units, so they add little to what is limited
/// by arithmetic or memory.
std::vector<int> core_order(const std::vector<CoreFacts>& cores);

/// Threads that a pool has unless told otherwise: one for each performance core, as far as the
/// quota goes (rounded down, since a pool that is throttled waits for its last thread; at least 1).
int usual_threads(const std::vector<CoreFacts>& cores, std::optional<double> quota);

/// Of these CPUs, from /sys; where it says nothing, each is a core of its own.
std::vector<CoreFacts> facts_of_cores(const std::vector<int>& cpus);

/// The tightest quota of this process's control groups; nullopt: none.
std::optional<double> cpu_quota();

/// "1 node", "2 nodes: cores 0-1, 2-3".
std::string describe_nodes(const std::vector<CoreFacts>& cores);

}  // namespace roofcast::kernels::cpu
