#include "cli/mock_server.hpp"

#include <fmt/format.h>

#include <chrono>
#include <ostream>
#include <utility>

#include "base/error.hpp"
#include "cli/options/flag_options.hpp"
#include "cli/until_signal.hpp"
#include "planner/flags/engine_flags.hpp"
#include "planner/flags/flag_values.hpp"
#include "planner/flags/scenario_flags.hpp"
#include "roofcast/live.hpp"
#include "serve/http_server.hpp"
#include "serve/mock.hpp"
#include "simulator/workload/length_sampler.hpp"

namespace roofcast {
namespace {

const Flags<DeploymentOptions>& deployment_flags() {
  static const Flags<DeploymentOptions> flags = [] {
    Flags<DeploymentOptions> all = machine_flags();
    std::erase_if(all, [](const auto& flag) { return flag.name == "gpu"; });
    append(all, engine_choice_flags(),
           [](DeploymentOptions& o) -> DeploymentOptions& { return o; });
    for (const KnobGroup group :
         {KnobGroup::memory_and_batch, KnobGroup::scheduler, KnobGroup::features}) {
      append(all, knob_flags(group), &DeploymentOptions::overrides);
    }
    return all;
  }();
  return flags;
}

const Flags<WorkloadOptions>& load_flags() {
  static const Flags<WorkloadOptions> flags = {*find_flag(synthetic_flags(), "output-len"),
                                               *find_flag(synthetic_flags(), "seed")};
  return flags;
}

/// Streams last as long as their tokens, and there is one connection each.
ConnectionLimits mock_limits() {
  ConnectionLimits limits;
  limits.largest_body = std::size_t{16} << 20;
  limits.longest_answer = std::chrono::hours(1);
  limits.requests_each = 1'000'000;
  limits.at_once = 1024;
  limits.waiting = 4096;
  return limits;
}

}  // namespace

po::options_description mock_options(MockCommandOptions& target) {
  po::options_description options = option_group("Mock endpoint (--mock)");
  options.add_options()("mock", po::bool_switch(&target.on),
                        "OpenAI-compatible endpoint of the simulated engine, in real time")(
      "served-model-name", po::value(&target.served_name)->value_name("NAME"),
      "model name in requests and answers (default: the model's)")(
      "bytes-per-token",
      converted(target.bytes_per_token, "--bytes-per-token", parse_positive_number)
          ->value_name("X"),
      "of prompts given as text (default 4)");
  add_flags(options, load_flags(), target.workload);
  add_flags(options, deployment_flags(), target.deployment);
  return options;
}

int run_mock(CommandContext& context, const ServeOptions& serve, const MockCommandOptions& options,
             const std::string& gpu) {
  DeploymentOptions deployment = options.deployment;
  deployment.gpu = gpu;
  if (deployment.model.empty()) throw UsageError("--mock: needs --model");
  if (gpu.empty()) throw UsageError("--mock: needs --gpu");
  const Scenario scenario = with_options({}, {.deployment = deployment});
  MockOptions mock_options{.served_name = options.served_name,
                           .bytes_per_token = options.bytes_per_token,
                           .token = serve.token};
  if (options.workload.output) {
    auto sampler = std::make_shared<LengthSampler>(*options.workload.output,
                                                   options.workload.seed.value_or(0), "output");
    mock_options.draw_output = [sampler] { return sampler->draw(); };
  }
  LiveEngine engine(scenario);
  HttpServer server(mock_limits());
  const int port = server.bind(serve.host, serve.port);
  MockServer mock(engine, std::move(mock_options));
  mock.add_routes(server);
  const LiveFacts& facts = engine.facts();
  context.err << fmt::format("{}: {} KV blocks, max_model_len {}\n", facts.headline,
                             facts.kv_blocks, facts.max_model_len)
              << std::flush;
  context.out << fmt::format("roofcast serves http://{}:{}/v1 (Ctrl-C stops it)\n", serve.host,
                             port)
              << std::flush;
  answer_until_signal(server, [&] { mock.stop(); });
  return kExitDone;
}

}  // namespace roofcast
