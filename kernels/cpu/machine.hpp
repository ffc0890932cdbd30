// What Linux says about the processor and its memory. Parsing is apart from reading files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/backend.hpp"
#include "kernels/cpu/isa.hpp"

namespace roofcast::kernels::cpu {

/// The value behind "key : value" or "key: value" on the first line that begins with the key, as in
/// /proc/cpuinfo and /proc/meminfo; empty when there is none.
std::string field(std::string_view text, std::string_view key);

/// "491520K", "32M", "24609872 kB" in bytes, with binary prefixes as the kernel means them; nothing
/// for other text.
std::optional<std::int64_t> parse_bytes(std::string_view text);

/// "Intel" for "GenuineIntel", "AMD" for "AuthenticAMD", else as it is.
std::string vendor_name(std::string_view vendor_id);

/// A control group that this process belongs to, as a folder.
struct MemoryGroup {
  std::string folder{};
  bool unified = true;  // version 2; the files of version 1 have other names
};

/// From the lines of /proc/self/cgroup ("0::/job/step", "4:memory:/job"): the group and all above
/// it, whose limits hold as well. A container that sees its own group as the root finds it there.
std::vector<MemoryGroup> memory_groups(std::string_view self_cgroup);

/// Memory that can be had without swapping, within the control groups' limits; 0: not known.
std::int64_t free_memory_bytes();

/// Facts of this machine for `threads` threads on `cores` (empty: not known). Peaks are absent: the
/// number of FMA units and of memory channels in use are not among what it says.
DeviceFacts machine_facts(int threads, std::vector<int> cores, Isa isa);

/// Rate of additions that wait for each other on the calling thread's core, one a cycle; 0: not
/// known for this processor. Takes about 20 microseconds.
double measured_clock_hz();

}  // namespace roofcast::kernels::cpu
