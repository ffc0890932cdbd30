#include "planner/scenario/cost.hpp"

#include <algorithm>
#include <cmath>

#include "model/step/power.hpp"

namespace roofcast {
namespace {

constexpr double kSecondsPerHour = 3600;
constexpr double kMillion = 1e6;

/// Mean number of replicas paid for over the run.
double replicas_paid(const PoolRun& pool, const SimulationResult& result) {
  const double whole = result.whole_makespan.value;
  double paid = 0;
  for (const ReplicaResult& replica : result.replicas) {
    // Time before the first arrival is paid for too, but not part of the makespan.
    if (replica.pool == pool.name) paid += std::min(replica.paid.value, whole);
  }
  // A single fixed replica is not listed.
  return result.replicas.empty() || whole <= 0 ? pool.replicas : paid / whole;
}

/// Sum over pools of `of_pool`(pool, its GPUs that are paid for); nullopt if any pool's value is
/// unknown.
template <class OfPool>
std::optional<double> sum_over(std::span<const PoolRun> pools, const SimulationResult& result,
                               OfPool of_pool) {
  double sum = 0;
  for (const PoolRun& pool : pools) {
    const double gpus = pool.deployment.parallel.gpus() * replicas_paid(pool, result);
    const std::optional<double> one = of_pool(pool, gpus);
    if (!one) return std::nullopt;
    sum += *one;
  }
  return sum;
}

std::optional<double> mean_power(const PoolRun& pool, double gpus, Seconds makespan) {
  const std::optional<PowerModel> model = power_model_of(pool.deployment.gpu);
  if (!model || !pool.step_energy || makespan.value <= 0) return std::nullopt;
  return model->idle.value * gpus + (*pool.step_energy / makespan).value;
}

/// Dollars per hour that an owned GPU's price counts for power at the board's limit, and that what
/// is drawn does not take.
double not_drawn(const Gpu& gpu, double gpus, const std::optional<double>& drawn_w) {
  if (!drawn_w || !gpu.board_power) return 0;
  return (gpu.board_power->value * gpus - *drawn_w) * gpu.price_per_watt;
}

std::optional<double> over(const std::optional<double>& per_second, double tokens_per_s) {
  if (!per_second || tokens_per_s <= 0) return std::nullopt;
  return *per_second / tokens_per_s;
}

std::optional<double> times(const std::optional<double>& value, double factor) {
  if (!value) return std::nullopt;
  return *value * factor;
}

/// Whether a run too short for a verdict is of an engine that may not serve all that is offered:
/// its requests wait for a third of their time or more.
bool may_fall_behind(const LoadResult& load, const SaturationVerdict& verdict) {
  constexpr double kMuch = 1.0 / 3;
  const double waited = load.queue.mean + load.client_queue.mean + load.tokenizer_queue.mean;
  return verdict.undecided && waited > kMuch * load.e2e.mean;
}

/// Fills in what a token costs, from what an hour does. `served`: as served_over_run.
void share_among_tokens(ServingCost& cost, double output_per_s, double all_per_s,
                        double served = 1) {
  const std::optional<double> per_million =
      times(cost.dollars_per_hour, kMillion / kSecondsPerHour / served);
  cost.dollars_per_million_output_tokens = over(per_million, output_per_s);
  cost.dollars_per_million_tokens = over(per_million, all_per_s);
  cost.joules_per_output_token = over(cost.mean_power_w, output_per_s);
  cost.joules_per_token = over(cost.mean_power_w, all_per_s);
}

}  // namespace

Printed printed_amount(double value, int decimals) {
  constexpr double kLittle = 0.0995;  // from there on two significant digits are "0.10"
  constexpr int kMostDecimals = 9;
  const double size = std::abs(value);
  if (size == 0 || size >= kLittle || decimals == 0) return printed::fixed(value, decimals);
  const int significant = 1 - static_cast<int>(std::floor(std::log10(size)));
  return printed::fixed(value, std::clamp(significant, decimals, kMostDecimals));
}

std::string amount(double value, int decimals) { return printed_amount(value, decimals).text; }

double served_over_run(const LoadResult& load, const SaturationVerdict& verdict) {
  const double offered = load.offered_rate_per_s;
  const auto all =
      static_cast<double>(load.completed + load.rejected + load.lost + load.unfinished);
  const bool served_all = verdict.judged && !verdict.saturated && !may_fall_behind(load, verdict) &&
                          std::isfinite(offered) && load.request_rate_per_s > 0 && all > 0;
  if (!served_all) return 1;
  const double served = offered * static_cast<double>(load.completed) / all;
  return std::max(1.0, served / load.request_rate_per_s);
}

ServingCost cost_of(std::span<const PoolRun> pools, const SimulationResult& result) {
  ServingCost cost;
  cost.dollars_per_hour =
      sum_over(pools, result, [&](const PoolRun& pool, double gpus) -> std::optional<double> {
        const Gpu& gpu = pool.deployment.gpu;
        if (!gpu.price) return std::nullopt;
        const std::optional<double> drawn = mean_power(pool, gpus, result.whole_makespan);
        return gpu.price->value * gpus - not_drawn(gpu, gpus, drawn);
      });
  cost.board_power_w =
      sum_over(pools, result, [](const PoolRun& pool, double gpus) -> std::optional<double> {
        const std::optional<Watts>& limit = pool.deployment.gpu.board_power;
        if (!limit) return std::nullopt;
        return limit->value * gpus;
      });
  cost.mean_power_w = sum_over(pools, result, [&](const PoolRun& pool, double gpus) {
    return mean_power(pool, gpus, result.whole_makespan);
  });
  const double output = result.output_tokens_per_s;
  share_among_tokens(cost, output, result.input_tokens_per_s + output,
                     served_over_run(result, result.saturation));
  return cost;
}

ServingCost idle_cost(const Deployment& deployment) {
  const double gpus = deployment.parallel.gpus();
  ServingCost cost;
  if (const auto& price = deployment.gpu.price) cost.dollars_per_hour = price->value * gpus;
  if (const auto& limit = deployment.gpu.board_power) cost.board_power_w = limit->value * gpus;
  return cost;
}

std::optional<double> dollars_for(const ServingCost& cost, Seconds time) {
  return times(cost.dollars_per_hour, time.value / kSecondsPerHour);
}

ServingCost cost_of(const Deployment& deployment, const GenerationEstimate& generation,
                    std::int64_t input_tokens, std::int64_t output_tokens) {
  ServingCost cost = idle_cost(deployment);
  const std::optional<PowerModel> power = power_model_of(deployment.gpu);
  if (power && generation.energy && generation.whole > Seconds{}) {
    const double gpus = deployment.parallel.gpus();
    cost.mean_power_w = power->idle.value * gpus + (*generation.energy / generation.whole).value;
    if (cost.dollars_per_hour) {
      *cost.dollars_per_hour -= not_drawn(deployment.gpu, gpus, cost.mean_power_w);
    }
  }
  const double output = generation.output_tokens_per_second;
  const double prompts_per_output =
      static_cast<double>(input_tokens) / static_cast<double>(output_tokens);
  share_among_tokens(cost, output, output * (1 + prompts_per_output));
  return cost;
}

}  // namespace roofcast
