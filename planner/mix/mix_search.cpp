#include "planner/mix/mix_search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <limits>
#include <memory>
#include <set>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "base/statistics.hpp"
#include "planner/capacity/capacity.hpp"
#include "planner/evaluate_all.hpp"
#include "planner/load/offered_load.hpp"
#include "planner/mix/fleet_program.hpp"
#include "planner/mix/load_bands.hpp"
#include "planner/search/plan_evaluator.hpp"

namespace roofcast {
namespace {

constexpr std::size_t kLengthBands = 8;

// Per band: the kinds of replica with the most throughput for their objective, and the least ones,
// which a small band may need only one of.
constexpr std::size_t kEfficient = 6;
constexpr std::size_t kSmall = 2;

/// Thrown to leave a cancelled search.
struct Stopped {};

/// A band with the catalogue of its requests alone, and every shape under it.
struct Band {
  LoadBand load{};
  std::shared_ptr<const PlanCatalogue> catalogue{};
  std::vector<PlannedShape> shapes{};
};

bool may_serve(const PlannedShape& planned) {
  // More units than the limits allow are the program's to refuse.
  return (planned.outcome == ShapeOutcome::searched ||
          planned.outcome == ShapeOutcome::beyond_limits) &&
         !planned.shape.split.apart();
}

/// What every search of this room shares.
struct MixSearch {
  const PlanCatalogue& catalogue;
  const PlanTask& task;
  double best = 0;
  int threads = 1;
  const Progress& progress;
  std::int64_t simulations = 0;

  /// fn(i) for i in [0, count), each of at least a simulation.
  template <class Fn>
  auto all(std::int64_t count, const Fn& fn) {
    auto answers = answers_here_or_on(count, threads, fn, progress);
    if (!answers) throw Stopped{};
    return std::move(*answers);
  }

  /// Of one program, as work that was begun. Throws Stopped if the user cancels.
  std::optional<FleetChoice> solved(const FleetProgram& program) {
    bool cancelled = false;
    auto choice = solve(program, [&] {
      cancelled = progress && !progress(0, 1);
      return cancelled;
    });
    if (cancelled) throw Stopped{};
    return choice;
  }
};

// ---- the bands

/// More requests than a verdict needs initially, so that every band has enough of them.
Workload sample_of(const PlanCatalogue& catalogue) {
  constexpr std::int64_t kTimes = 4;
  const GrowingLoad& growing = *catalogue.growing;
  return growing.grows() ? *growing.of(kTimes * growing.first()) : catalogue.workload;
}

/// What a band alone has to meet. Not the targets over all requests if it is at most half of those
/// that may miss them (then keeping up is enough), nor those of classes that it has no requests of.
Slo slo_of_band(Slo slo, const LoadBand& band) {
  std::erase_if(slo.targets, [&](const PercentileTarget& target) {
    return band.share <= 0.5 * (1 - target.percentile / 100);
  });
  for (std::size_t i = 0; i < slo.classes.size(); ++i) {
    const auto of_class = [i](const Request& request) {
      return static_cast<std::size_t>(request.slo_class) == i;
    };
    if (std::ranges::none_of(band.workload.requests, of_class)) slo.classes[i].targets.clear();
  }
  return slo;
}

/// Why the load is one band only, of all its classes and lengths before any are joined.
std::string why_undivided(const std::vector<LoadBand>& by_class,
                          const std::vector<LoadBand>& by_length) {
  std::string text = by_length.size() < 2 ? "all prompts are about equally long"
                                          : "all prompts of about one length arrive at one time";
  if (by_class.size() < 2) return text + ", and of one class";
  for (const LoadBand& band : by_class) {
    const std::string why = why_not_alone(band);
    if (!why.empty()) return fmt::format("{}, and class {} {}", text, band.route.classes[0], why);
  }
  return text;
}

std::vector<Band> with_shapes(MixSearch& search, std::vector<LoadBand> loads) {
  std::vector<Band> bands;
  for (LoadBand& load : loads) {
    auto catalogue = std::make_shared<PlanCatalogue>(search.catalogue);
    catalogue->workload = load.workload;
    catalogue->base.slo = slo_of_band(catalogue->base.slo, load);
    catalogue->growing = std::make_shared<const GrowingLoad>(catalogue->base, load.workload, false);
    auto shapes = plan_shapes(*catalogue, search.task, search.threads, {});
    bands.push_back(
        {.load = std::move(load), .catalogue = std::move(catalogue), .shapes = std::move(*shapes)});
  }
  return bands;
}

// ---- the capacity of one replica

/// What the task's probability allows for, in standard deviations of each input. All are off at
/// once, as far as one alone would be at that quantile, which is stricter than the probability: the
/// mix that is found is judged by that itself.
Deviations allowance(const PlanTask& task) {
  const double least = task.min_probability.value_or(0.5);
  if (least <= 0.5) return {};
  const double off = boost::math::quantile(boost::math::normal(), least);
  Deviations all;
  for (const UncertainInput& input : kUncertainInputs) all.*input.member = off * input.harmful;
  return all;
}

bool has_sessions(const Workload& workload) {
  return std::ranges::any_of(workload.requests,
                             [](const Request& one) { return one.follows != kNoRequest; });
}

/// One replica of a shape that may serve a band.
struct Pair {
  std::size_t band = 0;
  std::size_t shape = 0;
  double throughput_per_s = 0;   // of all its requests at once
  std::optional<double> busy{};  // replicas that the band keeps busy; unset: cannot serve it
  std::int64_t simulations = 0;
};

SimulationRun run_of(const Band& band, const Pair& pair) {
  return run_of(*band.catalogue, Candidate{.shape = band.shapes[pair.shape].shape, .units = 1});
}

/// All that there is to do at once: without the users' pauses, which would hide the engine.
Workload burst_of(const Workload& workload) {
  Workload burst = all_at_once(workload);
  for (Request& request : burst.requests) request.arrival = 0;
  return burst;
}

Pair with_throughput(const Band& band, Pair pair) {
  SimulationRun run = run_of(band, pair);
  run.workload = burst_of(run.workload);
  pair.throughput_per_s = simulate_candidate(run).request_rate_per_s;
  pair.simulations = 1;
  return pair;
}

Pair with_capacity(const Band& band, Pair pair, const PlanTask& task) {
  SimulationRun run = run_of(band, pair);
  const double rate = offered_rate_per_s(run.workload);
  const PoolStepTimes step_times = step_times_of(run);
  const Workload as_asked = run.workload;
  run.workload = burst_of(as_asked);
  simulate_sampled(run, step_times, {});  // for the uncertainty of its steps
  SloRequirement requirement = task.requirement;
  requirement.must_stand = false;
  const Deviations off = allowance(task);
  const LoadTrial trial = [&](std::span<const double> factors) {
    std::vector<LoadPoint> points;
    for (const double factor : factors) {
      run.workload = at_factor(as_asked, factor);
      points.push_back(
          load_point(factor, simulate_deviating(run, step_times, off, {}), requirement));
    }
    return points;
  };
  // The load at which arrivals come as fast as they are served all at once.
  const double all = pair.throughput_per_s / rate;
  // At a 64th of that a request rarely meets another one: if it fails there, it fails alone.
  constexpr double kAlone = 64;
  // A burst also has a slow end, in which few requests are left, so that a steady load may be a
  // little above it.
  constexpr double kBeyondBurst = 1.2;
  // In a burst sessions evict each other's prefixes. Arriving one by one they find at most what a
  // turn repeats, so that a conversation of several turns costs a fraction of its prompts.
  constexpr double kBeyondSessions = 4;
  const bool sessions = has_sessions(as_asked);
  // A guess only costs simulations: a stride up from it is just below `all`, one down half of it.
  constexpr double kGuess = 0.7, kStride = 1.4;
  // Less than the steps of the loads for which programs are solved (kStep in mix_of).
  constexpr double kTolerance = 0.03;
  const Capacity capacity =
      find_capacity(trial, {.min = all / kAlone,
                            .guess = kGuess * all,
                            .greatest = (sessions ? kBeyondSessions : kBeyondBurst) * all,
                            .tolerance = kTolerance,
                            .stride = kStride});
  if (capacity.load) pair.busy = 1 / *capacity.load;
  pair.simulations = 1 + std::ssize(capacity.points);
  return pair;
}

/// The pairs of one band that are worth a search for their capacity.
std::vector<Pair> most_promising(const Band& band, std::vector<Pair> pairs) {
  const auto objective = [&](const Pair& pair) { return band.shapes[pair.shape].unit_objective; };
  std::ranges::stable_sort(pairs, {}, [&](const Pair& pair) {
    return objective(pair) / std::max(pair.throughput_per_s, 1e-12);
  });
  const auto efficient = static_cast<std::ptrdiff_t>(std::min(kEfficient, pairs.size()));
  std::stable_sort(pairs.begin() + efficient, pairs.end(),
                   [&](const Pair& a, const Pair& b) { return objective(a) < objective(b); });
  pairs.resize(std::min(kEfficient + kSmall, pairs.size()));
  return pairs;
}

/// The throughput of each.
std::vector<Pair> measured(MixSearch& search, const std::vector<Band>& bands,
                           const std::vector<Pair>& pairs) {
  auto fast = search.all(std::ssize(pairs), [&](std::int64_t i) {
    const Pair& pair = pairs[static_cast<std::size_t>(i)];
    return with_throughput(bands[pair.band], pair);
  });
  for (const Pair& pair : fast) search.simulations += pair.simulations;
  return fast;
}

/// The capacity of each whose throughput is known.
std::vector<Pair> searched(MixSearch& search, const std::vector<Band>& bands,
                           const std::vector<Pair>& pairs) {
  auto found = search.all(std::ssize(pairs), [&](std::int64_t i) {
    const Pair& pair = pairs[static_cast<std::size_t>(i)];
    return with_capacity(bands[pair.band], pair, search.task);
  });
  for (const Pair& pair : found) search.simulations += pair.simulations;
  return found;
}

std::vector<Pair> pairs_of(MixSearch& search, const std::vector<Band>& bands) {
  std::vector<Pair> possible;
  for (std::size_t band = 0; band < bands.size(); ++band) {
    for (std::size_t shape = 0; shape < bands[band].shapes.size(); ++shape) {
      const PlannedShape& planned = bands[band].shapes[shape];
      if (may_serve(planned) && planned.unit_objective < search.best) {
        possible.push_back({.band = band, .shape = shape});
      }
    }
  }
  const std::vector<Pair> fast = measured(search, bands, possible);
  std::vector<Pair> promising;
  for (std::size_t band = 0; band < bands.size(); ++band) {
    std::vector<Pair> of_band;
    std::ranges::copy_if(fast, std::back_inserter(of_band), [&](const Pair& pair) {
      return pair.band == band && pair.throughput_per_s > 0;
    });
    std::ranges::copy(most_promising(bands[band], of_band), std::back_inserter(promising));
  }
  return searched(search, bands, promising);
}

// ---- the program

/// The limits of a plan as rows of a program.
std::vector<double> limits_of(const PlanLimits& limits) {
  std::vector<double> rows;
  if (limits.budget_per_hour) rows.push_back(*limits.budget_per_hour);
  if (limits.power_w) rows.push_back(*limits.power_w);
  for (const auto& [gpu, count] : limits.available) rows.push_back(static_cast<double>(count));
  return rows;
}

/// In the same order.
std::vector<double> uses_of(const PlannedShape& planned, const PlanLimits& limits) {
  std::vector<double> rows;
  if (limits.budget_per_hour) rows.push_back(planned.needs.cost_per_hour.value_or(0));
  if (limits.power_w) rows.push_back(planned.needs.power_w.value_or(0));
  for (const auto& [gpu, count] : limits.available) {
    rows.push_back(planned.shape.gpu == gpu ? static_cast<double>(planned.needs.gpus) : 0);
  }
  return rows;
}

/// Bands, what serves them, and the last program's solution.
struct Round {
  std::vector<Band> bands{};
  bool contiguous = false;
  std::vector<Pair> pairs{};
  std::vector<std::size_t> shape_of{};  // by band; empty: no solution
};

/// A program with the shape behind each option.
struct Posed {
  FleetProgram program{};
  std::vector<std::size_t> shapes{};
};

Posed posed(const MixSearch& search, const Round& round) {
  const std::vector<Band>& bands = round.bands;
  Posed posed{.program = {.bands = bands.size(),
                          .contiguous = round.contiguous,
                          .limits = limits_of(search.task.limits),
                          .min_pools = 2,
                          .below = search.best}};
  for (const Pair& pair : round.pairs) {
    if (!pair.busy) continue;
    auto at = std::ranges::find(posed.shapes, pair.shape);
    if (at == posed.shapes.end()) {
      const PlannedShape& planned = bands[pair.band].shapes[pair.shape];
      posed.program.options.push_back({.unit_objective = planned.unit_objective,
                                       .max_units = planned.limit.units,
                                       .busy = std::vector<std::optional<double>>(bands.size()),
                                       .uses = uses_of(planned, search.task.limits)});
      posed.shapes.push_back(pair.shape);
      at = posed.shapes.end() - 1;
    }
    const auto option = static_cast<std::size_t>(at - posed.shapes.begin());
    posed.program.options[option].busy[pair.band] = pair.busy;
  }
  return posed;
}

/// "l40s" of "nvidia-l40s", and a number where another pool has that name.
std::string pool_name(const Shape& shape, const std::vector<MixPool>& before) {
  const std::string file = shape.gpu.substr(shape.gpu.rfind('/') + 1);
  const std::size_t vendor = file.find('-');
  const std::string name = vendor == std::string::npos ? file : file.substr(vendor + 1);
  std::string unique = name;
  for (int i = 2; std::ranges::find(before, unique, &MixPool::name) != before.end(); ++i) {
    unique = fmt::format("{}-{}", name, i);
  }
  return unique;
}

std::vector<MixPool> pools_of(const std::vector<Band>& bands, const Posed& posed,
                              const FleetChoice& choice) {
  std::vector<MixPool> pools;
  std::set<std::size_t> done;
  for (std::size_t first = 0; first < bands.size(); ++first) {
    const std::size_t option = choice.option_of[first];
    if (!done.insert(option).second) continue;
    const PlannedShape& planned = bands.front().shapes[posed.shapes[option]];
    MixPool pool{.name = pool_name(planned.shape, pools),
                 .shape = planned.shape,
                 .units = static_cast<std::int32_t>(choice.units[option]),
                 .needs = planned.needs,
                 .unit_objective = planned.unit_objective};
    std::vector<PoolRoute> routes;
    for (std::size_t band = first; band < bands.size(); ++band) {
      if (choice.option_of[band] != option) continue;
      routes.push_back(bands[band].load.route);
      pool.share += bands[band].load.share;
    }
    pool.route = joined_route(routes);
    pools.push_back(std::move(pool));
  }
  return pools;
}

// ---- the answer

double p95_of(std::vector<double> values) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  return percentile(values, 95);
}

/// The same fleet and load, with a request class per pool that is routed to it and has the targets
/// over all requests.
SimulationRun with_pools_as_classes(const PlanCatalogue& catalogue,
                                    const std::vector<MixPool>& pools) {
  SimulationRun run = run_of(catalogue, pools);
  Slo& slo = run.scenario.slo;
  const std::vector<std::string> classes = std::exchange(run.workload.class_names, {});
  for (Request& request : run.workload.requests) {
    const std::string_view name =
        classes.empty() ? std::string_view{} : classes[static_cast<std::size_t>(request.slo_class)];
    const auto pool = std::ranges::find_if(
        pools, [&](const MixPool& one) { return takes(one.route, request.input_tokens, name); });
    request.slo_class = static_cast<std::int32_t>(pool - pools.begin());
  }
  slo.classes.clear();
  for (std::size_t i = 0; i < pools.size(); ++i) {
    run.workload.class_names.push_back(pools[i].name);
    slo.classes.push_back({.name = pools[i].name, .targets = slo.targets});
    run.scenario.cluster->pools[i].route = PoolRoute{.classes = {pools[i].name}};
  }
  slo.targets.clear();
  return run;
}

/// Fills in the latencies of each pool's own requests.
void take_latencies(const PlanCatalogue& catalogue, std::vector<MixPool>& pools) {
  const SimulationRun run = with_pools_as_classes(catalogue, pools);
  const SimulationResult result = simulate_candidate(run);
  throw_if_stopped(run);
  std::vector<TargetMargin> margins = judge(result).margins;  // of one pool after the other
  const std::size_t each = margins.size() / pools.size();
  for (std::size_t i = 0; i < pools.size(); ++i) {
    std::vector<double> ttft, tpot;
    for (const RequestRecord& record : result.requests) {
      if (record.finished == kNever) continue;
      if (static_cast<std::size_t>(record.request.slo_class) != i) continue;
      ttft.push_back(to_seconds(record.first_token - record.sent).value);
      if (record.request.output_tokens < 2) continue;
      tpot.push_back(to_seconds(record.finished - record.first_token).value /
                     static_cast<double>(record.request.output_tokens - 1));
    }
    pools[i].ttft_p95_s = p95_of(std::move(ttft));
    pools[i].tpot_p95_s = p95_of(std::move(tpot));
    const auto first = margins.begin() + static_cast<std::ptrdiff_t>(i * each);
    pools[i].targets.assign(first, first + static_cast<std::ptrdiff_t>(each));
  }
}

double objective_of(const std::vector<MixPool>& pools) {
  double sum = 0;
  for (const MixPool& pool : pools) sum += pool.unit_objective * pool.units;
  return sum;
}

/// Simulates the pools; whether they hold with the probability asked for.
bool holds(MixSearch& search, MixFindings& mix) {
  mix.figures = search
                    .all(1,
                         [&](std::int64_t) {
                           return trial_figures_of(run_of(search.catalogue, mix.pools),
                                                   search.catalogue, search.task, search.threads);
                         })
                    .front();
  search.simulations += 1 + mix.figures.further_simulations;
  return mix.figures.verdict.holds &&
         mix.figures.probability.value_or(1) >= search.task.min_probability.value_or(0);
}

/// Fills in what only the answer needs.
void complete(MixSearch& search, MixFindings& mix) {
  mix.finalist =
      search
          .all(1,
               [&](std::int64_t) {
                 return finalist_figures_of(run_of(search.catalogue, mix.pools), search.catalogue,
                                            search.task.requirement, search.threads);
               })
          .front();
  mix.pools = search
                  .all(1,
                       [&](std::int64_t) {
                         std::vector<MixPool> pools = mix.pools;
                         take_latencies(search.catalogue, pools);
                         return pools;
                       })
                  .front();
  search.simulations += mix.finalist.simulations + 1;
}

/// Takes replicas away as long as it holds, most expensive first.
void spare_units(MixSearch& search, MixFindings& mix) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < mix.pools.size(); ++i) order.push_back(i);
  std::ranges::stable_sort(order, std::greater{},
                           [&](std::size_t i) { return mix.pools[i].unit_objective; });
  for (const std::size_t i : order) {
    while (mix.pools[i].units > 1) {
      MixFindings smaller = mix;
      --smaller.pools[i].units;
      if (!holds(search, smaller)) break;
      mix = std::move(smaller);
    }
  }
}

/// The cheapest mix of these bands below search.best; no pools if none is found.
MixFindings mix_of(MixSearch& search, Round& round) {
  constexpr int kLeast = 60, kMost = 150, kStep = 5;  // percent of the load
  const Posed program = posed(search, round);
  FleetProgram at_load = program.program;
  std::vector<FleetChoice> tried;
  for (int percent = kLeast; percent <= kMost; percent += kStep) {
    at_load.load = percent / 100.0;
    const auto choice = search.solved(at_load);
    if (!choice) break;
    if (std::ranges::find(tried, *choice) != tried.end()) continue;
    tried.push_back(*choice);
    round.shape_of.clear();
    for (const std::size_t option : choice->option_of) {
      round.shape_of.push_back(program.shapes[option]);
    }
    MixFindings mix{.pools = pools_of(round.bands, program, *choice)};
    if (!holds(search, mix)) continue;
    spare_units(search, mix);
    return mix;
  }
  return {};
}

/// Replaces `found` by a mix of these bands if there is one that is better.
void improve(MixSearch& search, Round& round, MixFindings& found) {
  MixFindings mix = mix_of(search, round);
  if (mix.pools.empty()) return;
  search.best = objective_of(mix.pools);
  complete(search, mix);
  found = std::move(mix);
}

// ---- finer steps of length

/// Shapes that may serve a part of band `i`: its own, and that of a neighbour of another pool.
std::set<std::size_t> shapes_near_cut(const Round& round, std::size_t i) {
  std::set<std::size_t> shapes = {round.shape_of[i]};
  if (i > 0) shapes.insert(round.shape_of[i - 1]);
  if (i + 1 < round.shape_of.size()) shapes.insert(round.shape_of[i + 1]);
  return shapes;
}

/// The round with bands beside the borders of its pools cut into finer ones, served by either
/// pool's kind of replica: with whole bands a pool may be left with half a replica more than it
/// needs. Nullopt if nothing can be cut.
std::optional<Round> with_finer_cuts(MixSearch& search, const Round& round,
                                     const Workload& sample) {
  constexpr std::size_t kParts = 4;
  if (round.shape_of.empty()) return std::nullopt;
  Round finer{.contiguous = round.contiguous};
  std::vector<Pair> added;
  for (std::size_t i = 0; i < round.bands.size(); ++i) {
    const std::set<std::size_t> shapes = shapes_near_cut(round, i);
    std::vector<LoadBand> parts;
    if (shapes.size() > 1) {
      parts = joined_bands(sample, bands_within(sample, round.bands[i].load.route, kParts));
    }
    if (parts.size() < 2) {
      for (Pair pair : round.pairs) {
        if (pair.band != i) continue;
        pair.band = finer.bands.size();
        finer.pairs.push_back(pair);
      }
      finer.bands.push_back(round.bands[i]);
      continue;
    }
    for (Band& band : with_shapes(search, std::move(parts))) {
      for (const std::size_t shape : shapes) {
        if (!may_serve(band.shapes[shape])) continue;
        added.push_back({.band = finer.bands.size(), .shape = shape});
      }
      finer.bands.push_back(std::move(band));
    }
  }
  if (added.empty()) return std::nullopt;
  added = measured(search, finer.bands, added);
  std::erase_if(added, [](const Pair& pair) { return pair.throughput_per_s <= 0; });
  std::ranges::move(searched(search, finer.bands, added), std::back_inserter(finer.pairs));
  return finer;
}

}  // namespace

std::string why_no_mix(const PlanCatalogue& catalogue, const SearchSpace& space) {
  if (std::ranges::any_of(space.dimensions, [](const Knob& k) { return k.key == "pools"; })) {
    return "`mix`: not with `search` pools: the pools of a mix compute whole requests";
  }
  if (catalogue.base.max_concurrency) {
    return "`mix`: not under a client's limit on requests in flight, which ties the pools together";
  }
  if (!catalogue.workload.stages.empty()) {
    return "`mix`: not for staged loads: expected requests or sessions that arrive at one rate";
  }
  if (offered_rate_per_s(catalogue.workload) <= 0) {
    return "`mix`: all requests arrive at once, expected a rate (`request_rate`) or a trace";
  }
  return {};
}

Scenario scenario_of(const Scenario& base, const std::vector<MixPool>& pools) {
  const Shape& first = pools.front().shape;
  Scenario scenario =
      scenario_of(base, Candidate{.shape = {.gpu = first.gpu, .engine = first.engine}});
  scenario.cluster->pools.clear();
  for (const MixPool& pool : pools) {
    scenario.cluster->pools.push_back({.name = pool.name,
                                       .replicas = pool.units,
                                       .own = options_of(pool.shape),
                                       .route = pool.route});
  }
  return scenario;
}

SimulationRun run_of(const PlanCatalogue& catalogue, const std::vector<MixPool>& pools) {
  SimulationRun run;
  run.scenario = scenario_of(catalogue.base, pools);
  run.workload = catalogue.workload;
  run.stopped = catalogue.stopped;
  run.pools.clear();
  for (const MixPool& pool : pools) {
    Deployment deployment = deploy(catalogue, pool.shape);
    MemoryPlan plan = plan_memory(deployment);
    run.pools.push_back({.name = pool.name,
                         .replicas = pool.units,
                         .deployment = std::move(deployment),
                         .profile_hash = catalogue.gpus.at(pool.shape.gpu).hash,
                         .plan = std::move(plan)});
  }
  return run;
}

MixFindings find_mix(const PlanCatalogue& catalogue, const PlanTask& task, double best, int threads,
                     const Progress& progress) {
  MixSearch search{
      .catalogue = catalogue, .task = task, .best = best, .threads = threads, .progress = progress};
  MixFindings found{.why = "none was found that meets the SLO for less"};
  const Workload sample = sample_of(catalogue);
  std::vector<LoadBand> by_class = bands_by_class(sample);
  std::vector<LoadBand> by_length = bands_by_length(sample, kLengthBands);
  const std::string undivided = why_undivided(by_class, by_length);
  by_class = joined_bands(sample, std::move(by_class));
  by_length = joined_bands(sample, std::move(by_length));
  if (by_length.size() < 2 && by_class.size() < 2) found.why = undivided;
  try {
    for (auto* loads : {&by_class, &by_length}) {
      if (loads->size() < 2) continue;
      const bool by_prompts = loads == &by_length;
      Round round{.bands = with_shapes(search, std::move(*loads)), .contiguous = by_prompts};
      round.pairs = pairs_of(search, round.bands);
      improve(search, round, found);
      if (!by_prompts) continue;
      auto finer = with_finer_cuts(search, round, sample);
      if (finer) improve(search, *finer, found);
    }
  } catch (const Stopped&) {
    found.stopped = true;
  } catch (const Error& error) {  // finer cuts are worth nothing without it, but what was found is
    if (found.pools.empty()) found.why = error.what();
  }
  found.simulations = search.simulations;
  return found;
}

}  // namespace roofcast
