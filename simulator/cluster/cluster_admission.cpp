#include "simulator/cluster/cluster_admission.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>

#include "base/error.hpp"
#include "base/wording.hpp"
#include "simulator/cluster/client.hpp"
#include "simulator/engine/admission.hpp"

namespace roofcast {
namespace {

/// Marks the records that the pool can never serve.
std::vector<Refusal> mark_refused(std::vector<RequestRecord>& records, const Pool& pool) {
  if (pool.role == PoolRole::both) return reject_impossible(records, pool.replica);
  if (pool.role == PoolRole::decode) {
    return reject_impossible(records, pool.replica, RequestPart::output);
  }
  std::vector<Request> whole;
  for (RequestRecord& record : records) {
    whole.push_back(record.request);
    record.request.output_tokens = 1;
    record.request.max_tokens = kExactMaxTokens;
  }
  auto refusals = reject_impossible(records, pool.replica, RequestPart::prompt);
  for (std::size_t i = 0; i < records.size(); ++i) records[i].request = whole[i];
  return refusals;
}

/// Removes the rejection marks from the records and returns them.
std::vector<bool> take_marks(std::vector<RequestRecord>& records) {
  std::vector<bool> marks(records.size());
  for (std::size_t i = 0; i < records.size(); ++i) {
    marks[i] = records[i].rejected;
    records[i].rejected = false;
  }
  return marks;
}

/// Whether every pool of the role refuses the request, or no such pool exists.
bool all_refuse(const Cluster& cluster, const Refusals& refused, PoolRole role, std::size_t i) {
  for (std::size_t pool = 0; pool < cluster.pools.size(); ++pool) {
    if (cluster.pools[pool].role == role && !refused[pool][i]) return false;
  }
  return true;
}

/// A prompt is not sent to a prefill replica if no decode replica could continue it.
bool is_impossible(const Cluster& cluster, Refusals& refused, std::size_t i) {
  if (all_refuse(cluster, refused, PoolRole::decode, i)) {
    for (std::size_t pool = 0; pool < cluster.pools.size(); ++pool) {
      if (cluster.pools[pool].role == PoolRole::prefill) refused[pool][i] = true;
    }
  }
  return all_refuse(cluster, refused, PoolRole::both, i) &&
         all_refuse(cluster, refused, PoolRole::prefill, i);
}

bool any_refusal(const Refusals& refused) {
  return std::any_of(refused.begin(), refused.end(), [](const std::vector<bool>& pool) {
    return std::find(pool.begin(), pool.end(), true) != pool.end();
  });
}

void check_classes(const Pool& pool, std::span<const std::string> classes) {
  for (const std::string& name : pool.route->classes) {
    if (std::ranges::find(classes, name) != classes.end()) continue;
    throw Error(fmt::format("pool {}: route.classes: '{}' given, expected {}", pool.name, name,
                            classes.empty() ? "a load with request classes"
                                            : fmt::format("{}", fmt::join(classes, ", "))));
  }
}

/// Which requests the pool's route takes; nothing without one, which takes all.
std::vector<bool> routed_to(const Pool& pool, const std::vector<RequestRecord>& records,
                            std::span<const std::string> classes) {
  if (!pool.route) return {};
  check_classes(pool, classes);
  std::vector<bool> taken;
  for (const RequestRecord& record : records) {
    const auto index = static_cast<std::size_t>(record.request.slo_class);
    const std::string_view slo_class = classes.empty() ? std::string_view{} : classes[index];
    taken.push_back(takes(*pool.route, record.request.input_tokens, slo_class));
  }
  return taken;
}

void add_note(std::vector<std::string>& notes, const Pool& pool,
              const std::vector<Refusal>& refusals) {
  for (const Refusal& refusal : refusals) {
    notes.push_back("pool " + pool.name + " cannot accept " + counted(refusal.requests, "request") +
                    ": " + refusal.reason);
  }
}

/// Requests that the pool does not serve: those routed elsewhere, and of the others those that it
/// can never finish, which `notes` mentions.
std::vector<bool> refused_by(const Pool& pool, std::vector<RequestRecord>& records,
                             const std::vector<bool>& taken, std::vector<std::string>& notes) {
  if (taken.empty()) {
    add_note(notes, pool, mark_refused(records, pool));
    return take_marks(records);
  }
  std::vector<RequestRecord> routed;
  for (std::size_t i = 0; i < records.size(); ++i) {
    if (taken[i]) routed.push_back(records[i]);
  }
  add_note(notes, pool, mark_refused(routed, pool));
  std::vector<bool> refused(records.size(), true);
  for (std::size_t i = 0, next = 0; i < records.size(); ++i) {
    if (taken[i]) refused[i] = routed[next++].rejected;
  }
  return refused;
}

void admit_to_pools(std::vector<RequestRecord>& records, const Cluster& cluster,
                    std::span<const std::string> classes, ClusterAdmission& admission) {
  std::vector<bool> routed(records.size());  // to some pool that takes prompts
  bool has_routes = false;
  for (const Pool& pool : cluster.pools) {
    const std::vector<bool> taken = routed_to(pool, records, classes);
    admission.refused.push_back(refused_by(pool, records, taken, admission.notes));
    has_routes = has_routes || pool.route;
    if (pool.role == PoolRole::decode) continue;
    for (std::size_t i = 0; i < records.size(); ++i) {
      if (taken.empty() || taken[i]) routed[i] = true;
    }
  }
  if (!any_refusal(admission.refused)) {
    admission.refused.clear();
    return;
  }
  std::int64_t impossible = 0, unrouted = 0;
  for (std::size_t i = 0; i < records.size(); ++i) {
    records[i].rejected = is_impossible(cluster, admission.refused, i);
    if (records[i].rejected) ++(routed[i] ? impossible : unrouted);
  }
  if (unrouted > 0) {
    admission.notes.push_back(counted(unrouted, "request") +
                              " rejected: no pool's route takes them");
  }
  if (impossible > 0) {
    admission.notes.push_back(counted(impossible, "request") + " rejected: no pool " +
                              (has_routes ? "that they are routed to " : "") + "can serve them");
  }
}

}  // namespace

ClusterAdmission admit(std::vector<RequestRecord>& records, const Cluster& cluster,
                       std::span<const std::string> classes) {
  ClusterAdmission admission;
  if (cluster.pools.size() == 1 && !cluster.pools.front().route) {
    for (const Refusal& refusal : mark_refused(records, cluster.pools.front())) {
      admission.notes.push_back(counted(refusal.requests, "request") +
                                " rejected: " + refusal.reason);
    }
  } else {
    admit_to_pools(records, cluster, classes, admission);
  }
  const std::int64_t followers = reject_followers(records);
  if (followers > 0) {
    admission.notes.push_back(counted(followers, "request") +
                              " rejected because an earlier turn of their session was");
  }
  return admission;
}

}  // namespace roofcast
