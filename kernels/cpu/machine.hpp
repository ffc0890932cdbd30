// What Linux reports about the processor and its memory. Parsing is separate from reading files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/backend.hpp"
#include "kernels/cpu/isa.hpp"

namespace roofcast::kernels::cpu {

/// The whole file; empty if it cannot be read.
std::string read_text(const std::string& path);

/// The value after "key : value" or "key: value" on the first line that starts with `key`, as in
/// /proc/cpuinfo and /proc/meminfo; empty if there is none.
std::string field(std::string_view text, std::string_view key);

/// "491520K", "32M", "24609872 kB" in bytes, with the kernel's binary prefixes; nullopt for other
/// text.
std::optional<std::int64_t> parse_bytes(std::string_view text);

/// "Intel" for "GenuineIntel", "AMD" for "AuthenticAMD", otherwise unchanged.
std::string vendor_name(std::string_view vendor_id);

/// A control group that this process belongs to, as a folder.
struct ControlGroup {
  std::string folder{};
  bool unified = true;  // version 2; version 1 uses other file names
};

/// From the lines of /proc/self/cgroup ("0::/job/step", "4:memory:/job"): the group that has this
/// controller ("memory", "cpu") and its ancestors, whose limits also apply. A container that sees
/// its own group as the root finds it there.
std::vector<ControlGroup> control_groups(std::string_view self_cgroup, std::string_view controller);

/// Memory available without swapping, within the control groups' limits; 0: unknown.
std::int64_t free_memory_bytes();

/// Facts of this machine for `threads` threads on `cores` (empty: unknown). Peaks are absent,
/// because Linux does not report the number of FMA units and of memory channels in use.
DeviceFacts machine_facts(int threads, std::vector<int> cores, Isa isa);

/// Rate of dependent additions on the calling thread's core, one per cycle; 0: unknown for this
/// processor. Takes about 20 microseconds.
double measured_clock_hz();

}  // namespace roofcast::kernels::cpu
