#include "model/architecture/expert_load.hpp"

#include <algorithm>
#include <array>
#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <numeric>
#include <string_view>
#include <utility>

#include "base/ceil_divide.hpp"
#include "base/hash_mix.hpp"
#include "model/architecture/experts.hpp"

namespace roofcast {
namespace {

/// Tokens of a large step, which bound the law; shares depend on it weakly.
constexpr double kLawTokens = 8192;
constexpr double kLargestOfTokens = 0.8;

/// The quantile `u` of the bounded power law.
double law_quantile(double u, double exponent) {
  const double largest = kLargestOfTokens * kLawTokens;
  const double power = 1.0 - exponent;
  if (std::abs(power) < 1e-9) return std::pow(largest, u);
  return std::pow((std::pow(largest, power) - 1.0) * u + 1.0, 1.0 / power);
}

/// The quantile of a lognormal law whose median is 1.
double lognormal_quantile(double u, double log_spread) {
  return std::exp(log_spread * boost::math::quantile(boost::math::normal(), u));
}

/// Takes what exceeds `cap` from the shares and gives it to the others in proportion.
void bound_shares(std::vector<double>& shares, double cap) {
  for (std::size_t bounded = 0; bounded < shares.size();) {
    const auto free_end = shares.end() - static_cast<std::ptrdiff_t>(bounded);
    const double free = std::accumulate(shares.begin(), free_end, 0.0);
    const double left = 1.0 - cap * static_cast<double>(bounded);
    for (auto one = shares.begin(); one != free_end; ++one) *one *= left / free;
    const auto over = static_cast<std::size_t>(
        std::count_if(shares.begin(), free_end, [cap](double share) { return share > cap; }));
    if (over == 0) return;
    std::fill(free_end - static_cast<std::ptrdiff_t>(over), free_end, cap);
    bounded += over;
  }
}

/// Classes of pick_classes(): of 256 experts with a spread of 1, as many as are hit by 1 to 256
/// tokens come out within 1 %.
constexpr std::size_t kClasses = 16;

/// Placements whose busiest rank is averaged: its mean is then known to about 1 %.
constexpr std::uint64_t kPlacements = 200;

/// Mean over placements by chance, the same ones each time.
double busiest_by_chance(const std::vector<double>& shares, int ranks) {
  std::vector<double> placed = shares;
  const std::size_t on_rank =
      (placed.size() + static_cast<std::size_t>(ranks) - 1) / static_cast<std::size_t>(ranks);
  double sum = 0;
  for (std::uint64_t placement = 0; placement < kPlacements; ++placement) {
    for (std::size_t i = placed.size() - 1; i > 0; --i) {
      std::swap(placed[i], placed[hash_mix(placement, i) % (i + 1)]);
    }
    double largest = 0;
    for (std::size_t first = 0; first < placed.size(); first += on_rank) {
      const std::size_t last = std::min(placed.size(), first + on_rank);
      largest = std::max(largest,
                         std::accumulate(placed.begin() + static_cast<std::ptrdiff_t>(first),
                                         placed.begin() + static_cast<std::ptrdiff_t>(last), 0.0));
    }
    sum += largest * ranks;
  }
  return sum / static_cast<double>(kPlacements);
}

double busiest_balanced(std::vector<double> shares, int redundant, int ranks) {
  std::vector<int> copies(shares.size(), 1);
  const auto load_of = [&](std::size_t i) { return shares[i] / copies[i]; };
  for (int added = 0; added < redundant; ++added) {
    std::size_t heaviest = 0;
    for (std::size_t i = 1; i < shares.size(); ++i) {
      if (load_of(i) > load_of(heaviest)) heaviest = i;
    }
    ++copies[heaviest];
  }
  std::vector<double> loads;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    loads.insert(loads.end(), static_cast<std::size_t>(copies[i]), load_of(i));
  }
  std::sort(loads.rbegin(), loads.rend());
  const std::int64_t room = ceil_divide(static_cast<std::int64_t>(loads.size()), ranks);
  std::vector<double> rank_loads(static_cast<std::size_t>(ranks));
  std::vector<std::int64_t> held(rank_loads.size());
  for (const double load : loads) {
    std::size_t emptiest = rank_loads.size();
    for (std::size_t rank = 0; rank < rank_loads.size(); ++rank) {
      if (held[rank] == room) continue;
      if (emptiest == rank_loads.size() || rank_loads[rank] < rank_loads[emptiest]) emptiest = rank;
    }
    rank_loads[emptiest] += load;
    ++held[emptiest];
  }
  return *std::max_element(rank_loads.begin(), rank_loads.end()) * ranks;
}

/// With images too, and as GGUF files say it; Qwen3-Next has other experts.
constexpr std::array<std::string_view, 3> kQwen3Mixtures{
    "Qwen3MoeForCausalLM", "Qwen3VLMoeForConditionalGeneration", "qwen3moe"};

}  // namespace

ExpertPopularity published_popularity(const Transformer& model, const MoeFfn& experts) {
  if (is_deepseek_v3(model, experts)) return {.log_spread = 1.075};
  if (std::ranges::find(kQwen3Mixtures, model.architecture) != kQwen3Mixtures.end()) {
    return {.log_spread = 1.07};
  }
  return {};
}

std::vector<double> expert_shares(std::int64_t experts, std::int64_t picks,
                                  const ExpertPopularity& popularity) {
  std::vector<double> shares(static_cast<std::size_t>(experts), 1.0 / static_cast<double>(experts));
  if (popularity.is_even()) return shares;
  double sum = 0;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const double u = (static_cast<double>(i) + 0.5) / static_cast<double>(experts);
    shares[i] = popularity.power_law > 0 ? law_quantile(u, popularity.power_law)
                                         : lognormal_quantile(u, popularity.log_spread);
    sum += shares[i];
  }
  for (double& share : shares) share /= sum;
  bound_shares(shares, 1.0 / static_cast<double>(std::min(picks, experts)));
  return shares;
}

std::vector<double> pick_classes(const MoeFfn& experts, const ExpertPopularity& popularity) {
  if (popularity.is_even()) return {};
  const std::vector<double> shares =
      expert_shares(experts.experts, experts.experts_per_token, popularity);
  const std::size_t in_class = shares.size() % kClasses == 0 ? shares.size() / kClasses : 1;
  std::vector<double> classes;
  for (auto first = shares.begin(); first != shares.end();) {
    const auto last = first + static_cast<std::ptrdiff_t>(in_class);
    const double mean = std::accumulate(first, last, 0.0) / static_cast<double>(in_class);
    classes.push_back(mean * static_cast<double>(experts.experts_per_token));
    first = last;
  }
  return classes;
}

double busiest_rank_load(const MoeFfn& experts, const Parallelism& parallel,
                         const ExpertPopularity& popularity, bool balanced) {
  const int ranks = parallel.expert_ranks();
  if (ranks == 1 || popularity.is_even()) return 1.0;
  const std::vector<double> shares =
      expert_shares(experts.experts, experts.experts_per_token, popularity);
  const double load = balanced ? busiest_balanced(shares, parallel.redundant_experts, ranks)
                               : busiest_by_chance(shares, ranks);
  return std::clamp(load, 1.0, static_cast<double>(ranks));
}

}  // namespace roofcast
