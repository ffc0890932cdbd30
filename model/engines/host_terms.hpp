// The terms of an engine's host time by name, for files and fits.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/engines/engine.hpp"

namespace roofcast {

struct HostTerm {
  std::string_view name;          // in files, its unit at its end
  Seconds HostOverhead::*member;  // what it is of
  std::string_view what;          // one line for people
  double scale_s = 0;             // a change that a user would notice in latencies
};

/// All terms that a user may set or learn; those that runs tell surest first.
std::span<const HostTerm> host_terms();

/// What is known of an engine beyond its preset: host terms learnt from measured runs.
struct EngineProfile {
  struct Value {
    const HostTerm* term = nullptr;  // one of host_terms()
    Seconds time{};
  };
  std::string name{};         // for people and results: "our-vllm"
  std::string preset{};       // whose scheduler and memory rule apply: "vllm-0.19"
  std::vector<Value> host{};  // terms left out are the preset's
  std::string source{};       // which runs, how
  double median_error = 0;  // of their figures, each by the terms of the other runs; 0: not stated
};

/// `engine`, resolved for the profile's preset, with the profile's host terms and name.
Engine with_profile(Engine engine, const EngineProfile& profile);

}  // namespace roofcast
