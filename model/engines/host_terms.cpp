#include "model/engines/host_terms.hpp"

#include <array>
#include <utility>

namespace roofcast {

std::span<const HostTerm> host_terms() {
  static constexpr std::array kTerms{
      HostTerm{"graph_launch_s", &HostOverhead::graph_launch,
               "added to each step's device time: launching its graph", 1e-4},
      HostTerm{"per_request_s", &HostOverhead::per_request,
               "added to each request's first token: HTTP and the way to the engine", 1e-3},
      HostTerm{"per_prompt_token_s", &HostOverhead::per_prompt_token,
               "added to each request's first token per token of its prompt: tokenising", 1e-6},
      HostTerm{"handover_s", &HostOverhead::handover,
               "added to each request that goes from a prefill to a decode replica", 1e-3},
      HostTerm{"rank_skew_s", &HostOverhead::rank_skew,
               "added to each collective: waiting for the slowest rank", 1e-6},
      HostTerm{"step_base_s", &HostOverhead::step_base,
               "host time per step: scheduling, preparing inputs", 1e-4},
      HostTerm{"per_sequence_s", &HostOverhead::per_sequence,
               "host time per step and running sequence", 1e-6},
      HostTerm{"output_base_s", &HostOverhead::output_base,
               "host time per step: sampling, copying tokens back, updating", 1e-4},
      HostTerm{"output_per_sequence_s", &HostOverhead::output_per_sequence,
               "host time per step and running sequence: handling outputs", 1e-6},
      HostTerm{"serial_per_sequence_s", &HostOverhead::serial_per_sequence,
               "host time per step and running sequence, while the GPU waits", 1e-6},
      HostTerm{"per_other_request_s", &HostOverhead::per_other_request,
               "host time of each pipeline stage per step and request that is not in it", 1e-6},
      HostTerm{"kernel_launch_s", &HostOverhead::kernel_launch,
               "launch time per kernel outside a graph, if the kernel is shorter", 1e-6},
      HostTerm{
          "prompt_launch_s", &HostOverhead::prompt_launch,
          "launch time per kernel in steps with prompts that PyTorch runs operator by operator",
          1e-6},
  };
  return kTerms;
}

std::span<Seconds HostOverhead::*const> host_times() {
  static constexpr std::array<Seconds HostOverhead::*, 14> kTimes{
      &HostOverhead::step_base,         &HostOverhead::per_sequence,
      &HostOverhead::output_base,       &HostOverhead::output_per_sequence,
      &HostOverhead::graph_launch,      &HostOverhead::serial_per_sequence,
      &HostOverhead::per_other_request, &HostOverhead::kernel_launch,
      &HostOverhead::eager_launch,      &HostOverhead::prompt_launch,
      &HostOverhead::rank_skew,         &HostOverhead::per_request,
      &HostOverhead::per_prompt_token,  &HostOverhead::handover};
  static_assert(sizeof(HostOverhead) == kTimes.size() * sizeof(Seconds) + sizeof(std::string),
                "a time of HostOverhead is missing here");
  return kTimes;
}

void apply_host_options(HostOverhead& host, const EngineOverrides& given) {
  if (given.skip_tokenizer_init.value_or(false)) host.per_prompt_token = {};
}

Engine with_profile(Engine engine, const EngineProfile& profile, const EngineOverrides& given) {
  engine.name = profile.name;
  for (const EngineProfile::Value& value : profile.host)
    engine.host.*value.term->member = value.time;
  apply_host_options(engine.host, given);
  engine.host.source = profile.source;
  return engine;
}

}  // namespace roofcast
