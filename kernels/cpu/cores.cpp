#include "kernels/cpu/cores.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <system_error>
#include <tuple>
#include <utility>

#include "kernels/cpu/machine.hpp"

namespace roofcast::kernels::cpu {
namespace {

std::optional<int> number(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  return value;
}

/// A member of its physical core, which several hyperthreads share.
std::pair<int, int> physical(const CoreFacts& core) { return {core.package, core.core}; }

/// Quota of a version-1 group, whose period is in a file of its own; -1 means none.
std::optional<double> first_quota(const std::string& folder) {
  const auto quota = number(read_text(folder + "/cpu.cfs_quota_us"));
  const auto period = number(read_text(folder + "/cpu.cfs_period_us"));
  if (!quota || !period || *quota <= 0 || *period <= 0) return std::nullopt;
  return static_cast<double>(*quota) / *period;
}

std::string list_text(const std::vector<int>& cpus) {
  std::string text;
  for (std::size_t i = 0; i < cpus.size();) {
    std::size_t last = i;
    while (last + 1 < cpus.size() && cpus[last + 1] == cpus[last] + 1) ++last;
    text += (text.empty() ? "" : ",") + std::to_string(cpus[i]);
    if (last > i) text += "-" + std::to_string(cpus[last]);
    i = last + 1;
  }
  return text;
}

}  // namespace

std::vector<int> parse_cpu_list(std::string_view text) {
  std::vector<int> cpus;
  while (!text.empty() && text.front() >= '0' && text.front() <= '9') {
    const std::string_view item = text.substr(0, text.find_first_of(",\n"));
    text.remove_prefix(std::min(item.size() + 1, text.size()));
    const int first = number(item).value_or(0);
    const std::size_t dash = item.find('-');
    const int last =
        dash == std::string_view::npos ? first : number(item.substr(dash + 1)).value_or(first);
    for (int cpu = first; cpu <= last; ++cpu) cpus.push_back(cpu);
  }
  return cpus;
}

std::optional<double> parse_cpu_max(std::string_view text) {
  const auto quota = number(text);
  const std::size_t space = text.find(' ');
  if (!quota || space == std::string_view::npos) return std::nullopt;
  const auto period = number(text.substr(space + 1));
  if (*quota <= 0 || !period || *period <= 0) return std::nullopt;
  return static_cast<double>(*quota) / *period;
}

std::vector<int> core_order(const std::vector<CoreFacts>& cores) {
  std::vector<CoreFacts> sorted = cores;
  std::sort(sorted.begin(), sorted.end(),
            [](const CoreFacts& a, const CoreFacts& b) { return a.cpu < b.cpu; });
  std::set<std::pair<int, int>> seen;
  std::vector<std::tuple<int, int>> keyed;  // group, CPU
  for (const CoreFacts& core : sorted) {
    const bool first = seen.insert(physical(core)).second;
    keyed.emplace_back(core.efficient ? 2 : first ? 0 : 1, core.cpu);
  }
  std::sort(keyed.begin(), keyed.end());
  std::vector<int> order;
  for (const auto& [group, cpu] : keyed) order.push_back(cpu);
  return order;
}

int usual_threads(const std::vector<CoreFacts>& cores, std::optional<double> quota) {
  std::set<std::pair<int, int>> fast;
  for (const CoreFacts& core : cores) {
    if (!core.efficient) fast.insert(physical(core));
  }
  const int count = fast.empty() ? static_cast<int>(cores.size()) : static_cast<int>(fast.size());
  const int granted = quota ? static_cast<int>(std::min(*quota, 1e6)) : count;
  return std::max(1, std::min(count, granted));
}

std::vector<CoreFacts> facts_of_cores(const std::vector<int>& cpus) {
  const std::string folder = "/sys/devices/system/cpu/cpu";
  // Intel's processors with two kinds of cores list the small ones here.
  const std::vector<int> small = parse_cpu_list(read_text("/sys/devices/cpu_atom/cpus"));
  std::map<int, int> nodes;
  for (const int node : parse_cpu_list(read_text("/sys/devices/system/node/online"))) {
    const std::string list =
        read_text("/sys/devices/system/node/node" + std::to_string(node) + "/cpulist");
    for (const int cpu : parse_cpu_list(list)) nodes[cpu] = node;
  }
  std::vector<CoreFacts> facts;
  for (const int cpu : cpus) {
    const std::string topology = folder + std::to_string(cpu) + "/topology/";
    facts.push_back({.cpu = cpu,
                     .package = number(read_text(topology + "physical_package_id")).value_or(0),
                     .core = number(read_text(topology + "core_id")).value_or(cpu),
                     .node = nodes.contains(cpu) ? nodes[cpu] : 0,
                     .efficient = std::find(small.begin(), small.end(), cpu) != small.end()});
  }
  return facts;
}

std::optional<double> cpu_quota() {
  std::optional<double> least;
  for (const ControlGroup& group : control_groups(read_text("/proc/self/cgroup"), "cpu")) {
    const auto quota = group.unified ? parse_cpu_max(read_text(group.folder + "/cpu.max"))
                                     : first_quota(group.folder);
    if (quota && (!least || *quota < *least)) least = quota;
  }
  return least;
}

std::string describe_nodes(const std::vector<CoreFacts>& cores) {
  std::map<int, std::vector<int>> nodes;
  for (const CoreFacts& core : cores) nodes[core.node].push_back(core.cpu);
  if (nodes.size() <= 1) return "1 node";
  std::string text = std::to_string(nodes.size()) + " nodes: cores";
  bool first = true;
  for (auto& [node, cpus] : nodes) {
    std::sort(cpus.begin(), cpus.end());
    text += (first ? " " : ", ") + list_text(cpus);
    first = false;
  }
  return text;
}

}  // namespace roofcast::kernels::cpu
