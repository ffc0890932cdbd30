// The terms of an engine's host time by name, for files and fits.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/engines/engine.hpp"

namespace roofcast {

struct HostTerm {
  std::string_view name;          // in files; ends in its unit
  Seconds HostOverhead::*member;  // the member it names
  std::string_view what;          // one line for people
  double scale_s = 0;             // a change visible in a user's latencies
};

/// All terms that a user may set or fit, those best determined by runs first.
std::span<const HostTerm> host_terms();

/// Every time of HostOverhead, also those that host_terms() does not name.
std::span<Seconds HostOverhead::*const> host_times();

/// Facts about an engine beyond its preset: host terms fitted to measured runs.
struct EngineProfile {
  struct Value {
    const HostTerm* term = nullptr;  // one of host_terms()
    Seconds time{};
  };
  std::string name{};         // for display and results: "our-vllm"
  std::string preset{};       // gives the scheduler and memory rule: "vllm-0.19"
  std::vector<Value> host{};  // terms not listed are the preset's
  std::string source{};       // which runs, and how they were fitted
  double median_error = 0;    // of figures predicted from the other runs; 0: not stated
};

/// Sets the terms to 0 whose work these options spare the host: tokenising prompts that come as
/// token ids (skip_tokenizer_init).
void apply_host_options(HostOverhead& host, const EngineOverrides& given);

/// `engine`, which must be resolved for the profile's preset and `given`, with the profile's host
/// terms and name. The options hold for the profile's terms, too.
Engine with_profile(Engine engine, const EngineProfile& profile, const EngineOverrides& given);

}  // namespace roofcast
