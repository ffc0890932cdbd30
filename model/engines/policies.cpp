#include "model/engines/policies.hpp"

#include <algorithm>
#include <string>

#include "base/names.hpp"
#include "base/text.hpp"

namespace roofcast {
namespace {

constexpr NameTable<QueueOrder, 4> kOrders = {{{QueueOrder::fcfs, "fcfs"},
                                               {QueueOrder::priority, "priority"},
                                               {QueueOrder::longest_prefix, "lpm"},
                                               {QueueOrder::longest_output, "lof"}}};

constexpr NameTable<DraftMethod, 5> kMethods = {
    {{DraftMethod::ngram, "ngram"},
     {DraftMethod::eagle, "eagle"},
     {DraftMethod::eagle, "eagle3"},  // differs in the head, not in the schedule
     {DraftMethod::mtp, "mtp"},
     {DraftMethod::draft_model, "draft_model"}}};

constexpr NameTable<CapacityPolicy, 3> kCapacity = {
    {{CapacityPolicy::guaranteed_no_evict, "GUARANTEED_NO_EVICT"},
     {CapacityPolicy::max_utilization, "MAX_UTILIZATION"},
     {CapacityPolicy::static_batch, "STATIC_BATCH"}}};

constexpr NameTable<ChunkingPolicy, 2> kChunking = {
    {{ChunkingPolicy::first_come_first_served, "FIRST_COME_FIRST_SERVED"},
     {ChunkingPolicy::equal_progress, "EQUAL_PROGRESS"}}};

constexpr NameTable<MoeBackend, 6> kMoeBackends = {{{MoeBackend::automatic, "AUTO"},
                                                    {MoeBackend::cutlass, "CUTLASS"},
                                                    {MoeBackend::trtllm, "TRTLLM"},
                                                    {MoeBackend::deepgemm, "DEEPGEMM"},
                                                    {MoeBackend::marlin, "MARLIN"},
                                                    {MoeBackend::triton, "TRITON"}}};

constexpr NameTable<Fp8GemmBackend, 3> kFp8GemmBackends = {
    {{Fp8GemmBackend::automatic, "auto"},
     {Fp8GemmBackend::deep_gemm, "deep_gemm"},
     {Fp8GemmBackend::flashinfer_trtllm, "flashinfer_trtllm"}}};

// vLLM 0.19, config/parallel.py (All2AllBackend); SGLang 0.5.15, server_args.py
// (MOE_A2A_BACKEND_CHOICES).
constexpr NameTable<All2All, 17> kBackends = {
    {{All2All::allgather_reducescatter, "allgather_reducescatter"},
     {All2All::deepep_high_throughput, "deepep_high_throughput"},
     {All2All::deepep_low_latency, "deepep_low_latency"},
     {All2All::deepep, "deepep"},
     {All2All::allgather_reducescatter, "none"},
     {All2All::allgather_reducescatter, "naive"},
     {All2All::deepep_high_throughput, "mori_high_throughput"},
     {All2All::deepep_high_throughput, "flashinfer_all2allv"},
     {All2All::deepep_high_throughput, "flashinfer_nvlink_two_sided"},
     {All2All::deepep_high_throughput, "flashinfer_nvlink_one_sided"},
     {All2All::deepep_high_throughput, "flashinfer"},
     {All2All::deepep_low_latency, "mori_low_latency"},
     {All2All::deepep_low_latency, "nixl_ep"},
     {All2All::deepep_low_latency, "pplx"},
     {All2All::deepep, "mooncake"},
     {All2All::deepep, "nixl"},
     {All2All::deepep, "mori"}}};

// vLLM 0.19, config/cache.py (KVOffloadingBackend).
constexpr NameTable<OffloadingBackend, 2> kOffloading = {
    {{OffloadingBackend::native, "native"}, {OffloadingBackend::lmcache, "lmcache"}}};

constexpr NameTable<KvReservation, 4> kReservations = {{{KvReservation::paged, "paged"},
                                                        {KvReservation::max, "max"},
                                                        {KvReservation::pow2, "pow2"},
                                                        {KvReservation::oracle, "oracle"}}};

/// As TensorRT-LLM's enumerations are spelled: "guaranteed-no-evict" is "GUARANTEED_NO_EVICT".
std::string enumerator(std::string_view text) {
  std::string result = upper(text);
  std::ranges::replace(result, '-', '_');
  return result;
}

}  // namespace

std::string_view name_of(QueueOrder order) { return name_in(kOrders, order); }
std::string_view name_of(DraftMethod method) { return name_in(kMethods, method); }
std::string_view name_of(CapacityPolicy policy) { return name_in(kCapacity, policy); }
std::string_view name_of(ChunkingPolicy policy) { return name_in(kChunking, policy); }
std::string_view name_of(MoeBackend backend) { return name_in(kMoeBackends, backend); }
std::string_view name_of(All2All backend) { return name_in(kBackends, backend); }
std::string_view name_of(OffloadingBackend backend) { return name_in(kOffloading, backend); }

std::optional<OffloadingBackend> parse_offloading_backend(std::string_view text) {
  return value_in(kOffloading, text);
}

std::vector<std::string_view> offloading_backend_names() {
  return {name_of(OffloadingBackend::native), name_of(OffloadingBackend::lmcache)};
}

std::optional<All2All> parse_all2all(std::string_view text) { return value_in(kBackends, text); }

std::vector<std::string_view> all2all_names() {
  return {name_of(All2All::allgather_reducescatter), name_of(All2All::deepep_high_throughput),
          name_of(All2All::deepep_low_latency), name_of(All2All::deepep)};
}
std::vector<std::string_view> kv_reservation_names() { return names_in(kReservations); }
std::vector<std::string_view> queue_order_names() { return names_in(kOrders); }
std::vector<std::string_view> draft_method_names() { return names_in(kMethods); }
std::vector<std::string_view> capacity_policy_names() { return names_in(kCapacity); }
std::vector<std::string_view> chunking_policy_names() { return names_in(kChunking); }
std::vector<std::string_view> moe_backend_names() { return names_in(kMoeBackends); }

std::vector<std::string_view> fp8_gemm_backend_names() { return names_in(kFp8GemmBackends); }

std::string_view name_of(Fp8GemmBackend backend) { return name_in(kFp8GemmBackends, backend); }

std::optional<Fp8GemmBackend> parse_fp8_gemm_backend(std::string_view text) {
  return value_in(kFp8GemmBackends, lower(text));
}

std::string_view name_of(KvReservation reservation) { return name_in(kReservations, reservation); }

std::optional<QueueOrder> parse_queue_order(std::string_view text) {
  return value_in(kOrders, text);
}
std::optional<DraftMethod> parse_draft_method(std::string_view text) {
  return value_in(kMethods, text);
}
std::optional<CapacityPolicy> parse_capacity_policy(std::string_view text) {
  return value_in(kCapacity, enumerator(text));
}
std::optional<ChunkingPolicy> parse_chunking_policy(std::string_view text) {
  return value_in(kChunking, enumerator(text));
}
std::optional<MoeBackend> parse_moe_backend(std::string_view text) {
  return value_in(kMoeBackends, upper(text));
}
std::optional<KvReservation> parse_kv_reservation(std::string_view text) {
  return value_in(kReservations, text);
}

}  // namespace roofcast
