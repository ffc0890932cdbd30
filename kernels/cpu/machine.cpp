#include "kernels/cpu/machine.hpp"

#include <sys/utsname.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <fstream>
#include <iterator>
#include <system_error>

#include "kernels/cpu/cores.hpp"

namespace roofcast::kernels::cpu {
namespace {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\n";
  const std::size_t begin = text.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
}

/// Size of a core's highest-level cache.
std::int64_t last_level_cache_bytes(int core) {
  constexpr int kMaxCaches = 8;
  const std::string folder = "/sys/devices/system/cpu/cpu" + std::to_string(core) + "/cache/index";
  std::int64_t bytes = 0;
  int highest = 0;
  for (int i = 0; i < kMaxCaches; ++i) {
    const std::string level = read_text(folder + std::to_string(i) + "/level");
    if (level.empty() || level.front() - '0' < highest) continue;
    highest = level.front() - '0';
    bytes = parse_bytes(trimmed(read_text(folder + std::to_string(i) + "/size"))).value_or(0);
  }
  return bytes;
}

/// Reads kilohertz from a file and returns hertz; 0 if there is none.
double frequency_hz(const std::string& path) {
  constexpr double kHzPerKhz = 1e3;
  const std::string text = read_text(path);
  double khz = 0;
  std::from_chars(text.data(), text.data() + text.size(), khz);
  return khz * kHzPerKhz;
}

/// The number after `name` in lines such as "inactive_file 123"; 0 if the name is missing.
std::int64_t counter(std::string_view text, std::string_view name) {
  const std::string key = std::string(name) + ' ';
  const std::size_t at = text.starts_with(key) ? 0 : text.find('\n' + key);
  if (at == std::string_view::npos) return 0;
  text.remove_prefix(text.find(' ', at) + 1);
  return parse_bytes(text.substr(0, text.find('\n'))).value_or(0);
}

/// The rest of a group's limit; nullopt if it has none. Cached files count as used there but make
/// room when needed (Linux, cgroup-v2.rst and cgroup-v1/memory.rst).
std::optional<std::int64_t> left_in(const ControlGroup& group) {
  const auto value = [&](const char* unified, const char* first) {
    return parse_bytes(trimmed(read_text(group.folder + '/' + (group.unified ? unified : first))));
  };
  const auto max = value("memory.max", "memory.limit_in_bytes");
  const auto used = value("memory.current", "memory.usage_in_bytes");
  if (!max.has_value() || !used.has_value()) return std::nullopt;
  const std::int64_t files = counter(read_text(group.folder + "/memory.stat"),
                                     group.unified ? "inactive_file" : "total_inactive_file");
  return std::max<std::int64_t>(0, *max - *used + files);
}

/// Whether `list` ("cpu,memory") includes the controller.
bool names(std::string_view list, std::string_view controller) {
  while (!list.empty()) {
    const std::string_view name = list.substr(0, list.find(','));
    if (name == controller) return true;
    list.remove_prefix(std::min(name.size() + 1, list.size()));
  }
  return false;
}

std::string list_of(const std::vector<int>& cores) {
  std::string list;
  for (const int core : cores) list += (list.empty() ? "" : ",") + std::to_string(core);
  return list;
}

}  // namespace

std::string read_text(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::string field(std::string_view text, std::string_view key) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos || trimmed(line.substr(0, colon)) != key) continue;
    return std::string(trimmed(line.substr(colon + 1)));
  }
  return "";
}

std::optional<std::int64_t> parse_bytes(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return std::nullopt;
  const std::string_view unit = trimmed({end, text.data() + text.size()});
  if (unit.empty()) return number;
  if (unit == "K" || unit == "kB") return number << 10;
  if (unit == "M") return number << 20;
  if (unit == "G") return number << 30;
  return std::nullopt;
}

std::string vendor_name(std::string_view vendor_id) {
  if (vendor_id == "GenuineIntel") return "Intel";
  if (vendor_id == "AuthenticAMD") return "AMD";
  return std::string(vendor_id);
}

std::int64_t free_memory_bytes() {
  const std::int64_t available =
      parse_bytes(field(read_text("/proc/meminfo"), "MemAvailable")).value_or(0);
  std::int64_t min = available;
  for (const ControlGroup& group : control_groups(read_text("/proc/self/cgroup"), "memory")) {
    min = std::min(min, left_in(group).value_or(min));
  }
  return min;
}

std::vector<ControlGroup> control_groups(std::string_view self_cgroup,
                                         std::string_view controller) {
  const std::string mount = "/sys/fs/cgroup";
  std::vector<ControlGroup> groups;
  while (!self_cgroup.empty()) {
    const std::string_view line = self_cgroup.substr(0, self_cgroup.find('\n'));
    self_cgroup.remove_prefix(std::min(line.size() + 1, self_cgroup.size()));
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string_view::npos || second == std::string_view::npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    const bool unified = controllers.empty();
    if (!unified && !names(controllers, controller)) continue;
    const std::string root = unified ? mount : mount + "/" + std::string(controller);
    std::string_view path = line.substr(second + 1);
    while (path.size() > 1) {
      groups.push_back({.folder = root + std::string(path), .unified = unified});
      path = path.substr(0, path.rfind('/'));
    }
    groups.push_back({.folder = root, .unified = unified});
  }
  return groups;
}

DeviceFacts machine_facts(int threads, std::vector<int> cores, Isa isa) {
  const std::string cpuinfo = read_text("/proc/cpuinfo");
  if (std::ssize(cores) > threads) cores.resize(static_cast<std::size_t>(threads));
  const int core = cores.empty() ? 0 : cores.front();
  const std::string name = field(cpuinfo, "model name");
  DeviceFacts facts;
  facts.name = name.empty() ? "CPU" : name;
  facts.identity = facts.name + ", cores " + list_of(cores);
  facts.vendor = vendor_name(field(cpuinfo, "vendor_id"));
  facts.architecture = name_of(isa);
  facts.multiprocessors = threads;
  facts.memory_bytes = parse_bytes(field(read_text("/proc/meminfo"), "MemTotal")).value_or(0);
  facts.free_memory_bytes = free_memory_bytes();
  facts.cache_bytes = last_level_cache_bytes(core);
  facts.clock_hz = frequency_hz("/sys/devices/system/cpu/cpu" + std::to_string(core) +
                                "/cpufreq/cpuinfo_max_freq");
  facts.versions["NUMA"] = describe_nodes(facts_of_cores(cores));
  utsname system{};
  if (uname(&system) == 0) facts.versions["kernel"] = system.release;
  return facts;
}

double measured_clock_hz() {
#if defined(__x86_64__)
  // Dependent additions of two registers: one cycle each on every x86-64 core (Agner Fog,
  // Instruction tables); of a constant, some newer cores do several per cycle. The shortest of
  // several windows counts, since the others may have been interrupted.
  constexpr int kWindows = 5;
  constexpr int kLoops = 1000;
  constexpr int kAdditions = 16;  // per loop iteration
  double shortest = 0;
  std::uint64_t sum = 0;
  const std::uint64_t step = 3;
  for (int window = 0; window < kWindows; ++window) {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < kLoops; ++i) {
      asm volatile(
          "add %1, %0\n add %1, %0\n add %1, %0\n add %1, %0\n"
          "add %1, %0\n add %1, %0\n add %1, %0\n add %1, %0\n"
          "add %1, %0\n add %1, %0\n add %1, %0\n add %1, %0\n"
          "add %1, %0\n add %1, %0\n add %1, %0\n add %1, %0\n"
          : "+r"(sum)
          : "r"(step)
          : "cc");
    }
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
    shortest = window == 0 ? time.count() : std::min(shortest, time.count());
  }
  return shortest > 0 ? kLoops * kAdditions / shortest : 0;
#else
  return 0;
#endif
}

}  // namespace roofcast::kernels::cpu
