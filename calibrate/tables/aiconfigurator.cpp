#include "calibrate/tables/aiconfigurator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "base/dotted_version.hpp"
#include "base/error.hpp"
#include "base/quantity.hpp"
#include "calibrate/tables/table_rows.hpp"

namespace roofcast {

namespace {

constexpr double kBytesPerElement = 2.0;

// DeepSeek-V2 and V3, arXiv 2412.19437 section 4.2: the only latent attention in these tables.
constexpr std::int64_t kLatentRank = 512;
constexpr std::int64_t kLatentRotary = 64;
constexpr std::int64_t kLatentKeyPart =
    128;  // of a head's keys without the rotary part; and values

/// Block-scaled fp8 products of vLLM 0.24 were launched one by one outside a graph: 56 to 420 us at
/// any small size, where SGLang's and TensorRT-LLM's same kernels take 7.
bool is_eager_product(const TableFile& table) {
  return table.text("framework") == "VLLM" && table.text("gemm_dtype") == "fp8_block" &&
         !is_older(table.text("version"), "0.24");
}

void read_gemm(const TableFile& table, ImportedRows& rows) {
  if (is_eager_product(table)) {
    leave_out(rows, LeftOutAs::refused, "launched outside a graph, so launch time dominates",
              table.place());
    return;
  }
  const auto format = format_of(table.text("gemm_dtype"));
  if (!format) {
    leave_out(rows, LeftOutAs::unused, "number format " + table.text("gemm_dtype"), table.place());
    return;
  }
  const auto m = table.count("m", 1);
  const auto n = table.count("n", 1);
  const auto k = table.count("k", 1);
  if (!m || !n || !k) {
    refuse_number(table, rows);
    return;
  }
  add_row(table, {.family = OperatorFamily::gemm, .format = *format, .outputs = *n, .inputs = *k},
          kernel_of(table), static_cast<double>(*m), 0, rows);
}

/// Why an attention row cannot be used; nullopt if it can.
std::optional<std::string> attention_of_no_use(const TableFile& table) {
  const std::string& beams = table.text("beam_width");
  if (!beams.empty() && beams != "1") return "beam search";
  if (!cache_of(table.text("kv_cache_dtype"))) {
    return "KV cache of " + table.text("kv_cache_dtype");
  }
  const std::string& arithmetic = table.text("attn_dtype");
  if (arithmetic != "bfloat16" && arithmetic != "float16" && arithmetic != "fp8") {
    return "attention computed in " + arithmetic;
  }
  return std::nullopt;
}

/// A context row is one call over `batch_size` prompts of `isl` tokens, each after `step` cached
/// ones; a generation row one over as many sequences of step + isl tokens. A window bounds what is
/// attended to, so contexts beyond it are one size; one that it does not cut yet is another (vLLM
/// 0.24 on H200: 10 us against 16).
void read_attention(const TableFile& table, ImportedRows& rows) {
  const bool context = table.text("op_name").starts_with("context");
  if (const auto reason = attention_of_no_use(table)) {
    leave_out(rows, LeftOutAs::unused, *reason, table.place());
    return;
  }
  const auto batch = table.count("batch_size", 1);
  const auto isl = table.count("isl", 1);
  const auto step = table.count("step");
  const auto heads = table.count("num_heads", 1);
  auto kv_heads = table.count("num_key_value_heads");
  const auto head_dim = table.count("head_dim", 1);
  const bool windowed = !table.text("window_size").empty();
  const auto window = windowed ? table.count("window_size") : std::optional<std::int64_t>(0);
  if (!batch || !isl || !step || !heads || !kv_heads || !head_dim || !window ||
      *kv_heads > *heads) {
    refuse_number(table, rows);
    return;
  }
  if (*kv_heads == 0) kv_heads = heads;
  const OperatorShape shape{
      .family = context ? OperatorFamily::prefill_attention : OperatorFamily::decode_attention,
      .cache = *cache_of(table.text("kv_cache_dtype")),
      .query_heads = *heads,
      .kv_heads = *kv_heads,
      .head_dim = *head_dim,
      .value_dim = *head_dim,
      .window = *window,
      .prompts = context ? static_cast<int>(*batch) : 1,
      .fp8_arithmetic = table.text("attn_dtype") == "fp8"};
  std::int64_t y = context ? *step : *step + *isl;
  if (!context && y == *window) {
    leave_out(rows, LeftOutAs::unused,
              "a context as long as its window, faster than any longer one", table.place());
    return;
  }
  if (*window > 0) y = std::min(y, *window);
  add_row(table, shape, kernel_of(table), static_cast<double>(context ? *isl : *batch),
          static_cast<double>(y), rows);
}

/// Nemotron 3's experts have no gate (up, squared ReLU, down). Only TensorRT-LLM's rows say so; the
/// other engines' are of the same models, which alone pick 22 of 512 experts, or have a hidden size
/// of 2,688.
bool has_gate(const TableFile& table) {
  if (table.text("kernel_source").ends_with("nongated")) return false;
  const bool super = table.text("topk") == "22" && table.text("num_experts") == "512";
  return !super && table.text("hidden_size") != "2688";
}

/// Hundredths of the exponent of "power_law_1.01", 0 of "balanced"; nullopt of others.
std::optional<int> power_law_of(const std::string& distribution) {
  constexpr std::string_view kPrefix = "power_law_";
  if (distribution == "balanced") return 0;
  if (!distribution.starts_with(kPrefix)) return std::nullopt;
  const auto exponent = to_number<double>(distribution.substr(kPrefix.size()));
  if (!exponent || *exponent <= 0 || *exponent > 10) return std::nullopt;
  return static_cast<int>(std::lround(100 * *exponent));
}

/// `num_tokens` are all tokens of the expert ranks, before routing; timed is the share of one rank:
/// of a power law the one with the most pairs.
void read_moe(const TableFile& table, ImportedRows& rows) {
  if (table.text("op_name") != "moe") {
    leave_out(rows, LeftOutAs::unused, "experts behind DeepEP, timed without sorting their pairs",
              table.place());
    return;
  }
  const auto format = format_of(table.text("moe_dtype"));
  if (!format) {
    leave_out(rows, LeftOutAs::unused, "number format " + table.text("moe_dtype"), table.place());
    return;
  }
  const auto power_law = power_law_of(table.text("distribution"));
  if (!power_law) {
    leave_out(rows, LeftOutAs::unused, "experts picked as " + table.text("distribution"),
              table.place());
    return;
  }
  const auto tokens = table.count("num_tokens", 1);
  const auto hidden = table.count("hidden_size", 1);
  const auto width = table.count("inter_size", 1);
  const auto picked = table.count("topk", 1);
  const auto experts = table.count("num_experts", 1);
  const auto ranks = table.count("moe_tp_size", 1);
  const auto expert_ranks = table.count("moe_ep_size", 1);
  if (!tokens || !hidden || !width || !picked || !experts || !ranks || !expert_ranks ||
      *picked > *experts || *width % *ranks != 0 || *expert_ranks > *experts ||
      *experts % *expert_ranks != 0) {
    refuse_number(table, rows);
    return;
  }
  add_row(table,
          {.family = OperatorFamily::moe,
           .format = *format,
           .outputs = *width / *ranks,
           .inputs = *hidden,
           .experts = *experts,
           .experts_per_token = *picked,
           .gated = has_gate(table),
           .expert_ranks = static_cast<int>(*expert_ranks),
           .power_law = *power_law},
          kernel_of(table), static_cast<double>(*tokens), 0, rows);
}

/// The attention kernel alone, of one rank's `num_heads`; `tp_size` only says how a model comes to
/// them. SGLang's backends but trtllm_mla were timed with absorbed prompts, which SGLang does not
/// run (its forward_normal expands keys and values).
void read_latent(const TableFile& table, ImportedRows& rows) {
  if (table.text("mla_dtype") == "fp8_block") {  // of DeepEP's deployments
    read_block(table, rows);
    return;
  }
  const bool generation = table.text("op_name").find("generation") != std::string::npos;
  const std::string& kernel = table.text("kernel_source");
  if (!generation && table.text("framework") == "SGLang" && kernel != "trtllm_mla") {
    leave_out(rows, LeftOutAs::refused, "prompts in the absorbed form, which SGLang does not run",
              table.place());
    return;
  }
  const auto cache = cache_of(table.text("kv_cache_dtype"));
  if (!cache) {
    leave_out(rows, LeftOutAs::unused, "KV cache of " + table.text("kv_cache_dtype"),
              table.place());
    return;
  }
  const auto batch = table.count("batch_size", 1);
  const auto isl = table.count("isl", 1);
  const auto step = table.count("step");
  const auto heads = table.count("num_heads", 1);
  if (!batch || !isl || !step || !heads) {
    refuse_number(table, rows);
    return;
  }
  const bool fp8 = table.text("mla_dtype") == "fp8";
  if (generation) {
    add_row(table,
            {.family = OperatorFamily::decode_attention,
             .cache = *cache,
             .query_heads = *heads,
             .kv_heads = 1,
             .head_dim = kLatentRank + kLatentRotary,
             .value_dim = kLatentRank,
             .latent = true,
             .fp8_arithmetic = fp8},
            kernel_of(table), static_cast<double>(*batch), static_cast<double>(*step + *isl), rows);
    return;
  }
  add_row(table,
          {.family = OperatorFamily::prefill_attention,
           .cache = *cache,
           .query_heads = *heads,
           .kv_heads = *heads,
           .head_dim = kLatentKeyPart + kLatentRotary,
           .value_dim = kLatentKeyPart,
           .prompts = static_cast<int>(*batch),
           .fp8_arithmetic = fp8},
          kernel_of(table), static_cast<double>(*isl), static_cast<double>(*step), rows);
}

/// Reads the participants and the message size; the caller knows `exchange`.
void read_message(const TableFile& table, Exchange exchange, ImportedRows& rows) {
  const auto ranks = table.count("num_gpus", 2);
  const auto elements = table.count("message_size", 1);
  if (!ranks || !elements) {
    refuse_number(table, rows);
    return;
  }
  add_row(table,
          {.family = OperatorFamily::collective,
           .ranks = static_cast<int>(*ranks),
           .exchange = exchange},
          kernel_of(table), static_cast<double>(*elements) * kBytesPerElement, 0, rows);
}

void read_all_reduce(const TableFile& table, ImportedRows& rows) {
  if (table.text("kernel_source").ends_with("_eager")) {
    leave_out(rows, LeftOutAs::duplicate,
              "launched outside a graph: the graph's time and the launch", table.place());
    return;
  }
  read_message(table, Exchange::all_reduce, rows);
}

void read_nccl(const TableFile& table, ImportedRows& rows) {
  if (table.text("nccl_dtype") == "int8") {
    leave_out(rows, LeftOutAs::duplicate, "message of int8: that of as many bytes in 16 bits",
              table.place());
    return;
  }
  if (table.text("nccl_dtype") != "half") {
    leave_out(rows, LeftOutAs::unused, "collective of " + table.text("nccl_dtype"), table.place());
    return;
  }
  const std::string& op = table.text("op_name");
  if (op == "all_reduce") return read_message(table, Exchange::all_reduce, rows);
  if (op == "reduce_scatter") return read_message(table, Exchange::reduce_scatter, rows);
  if (op == "all_gather") return read_message(table, Exchange::all_gather, rows);
  if (op == "alltoall") return read_message(table, Exchange::all_to_all, rows);
  leave_out(rows, LeftOutAs::unused, "collective " + op, table.place());
}

/// A kind of table, identified by columns that only it has.
struct Kind {
  const char* name;
  std::vector<std::string_view> columns;
  void (*read)(const TableFile&, ImportedRows&);
};

void read_module(const TableFile& table, ImportedRows& rows) {
  const std::string& op = table.text("op_name");
  const bool whole =
      op.find("context") != std::string::npos || op.find("generation") != std::string::npos;
  return whole ? read_block(table, rows) : read_block_part(table, rows);
}

/// In order of precedence: the first kind that matches is used.
const std::vector<Kind>& kinds() {
  static const std::vector<Kind> all = {
      {"attention block", {"gemm_type", "op_name"}, read_module},
      {"gemm", {"gemm_dtype", "m", "n", "k"}, read_gemm},
      {"attention",
       {"attn_dtype", "kv_cache_dtype", "op_name", "batch_size", "isl", "num_heads",
        "num_key_value_heads", "head_dim", "step"},
       read_attention},
      {"moe",
       {"moe_dtype", "num_tokens", "hidden_size", "inter_size", "topk", "num_experts",
        "moe_tp_size", "moe_ep_size", "distribution"},
       read_moe},
      {"mla",
       {"mla_dtype", "kv_cache_dtype", "op_name", "num_heads", "batch_size", "isl", "step"},
       read_latent},
      {"all-reduce", {"allreduce_dtype", "num_gpus", "message_size"}, read_all_reduce},
      {"nccl", {"nccl_dtype", "op_name", "num_gpus", "message_size"}, read_nccl},
      {"absorbed products", {"bmm_dtype", "num_tokens", "num_heads"}, read_latent_product},
      {"gated delta", {"d_conv", "num_k_heads", "num_v_heads", "phase"}, read_gated_delta},
      {"mamba-2", {"d_conv", "d_state", "n_groups", "phase"}, read_mamba2},
      {"quantisation", {"quant_dtype", "m", "k"}, read_quantisation},
  };
  return all;
}

const Kind& kind_of(const TableFile& table, const std::string& path) {
  for (const Kind& kind : kinds()) {
    const bool all = std::all_of(kind.columns.begin(), kind.columns.end(),
                                 [&](std::string_view column) { return table.has(column); });
    if (all && table.has("latency") && table.has("version")) return kind;
  }
  throw Error(fmt::format(
      "{}: not a table of kernel times: it has the columns {}; expected those of aiconfigurator's "
      "gemm, attention, moe, MLA, attention modules, absorbed products, gated delta nets, Mamba-2, "
      "quantisation, all-reduce or NCCL",
      path, fmt::join(table.columns(), ", ")));
}

}  // namespace

void read_aiconfigurator(const std::string& path, ImportedRows& rows, const OtherDevice& other) {
  TableFile table(path);
  const Kind& kind = kind_of(table, path);
  begin_table(rows, path, kind.name);
  std::map<std::string, bool> others;
  while (table.next()) {
    count_row(rows);
    if (!table.whole()) {
      leave_out(rows, LeftOutAs::refused, "number of fields differs from the header's",
                table.place());
      continue;
    }
    const std::string& device = table.text("device");
    const auto [place, fresh] = others.try_emplace(device, false);
    if (fresh && other) place->second = other(device);
    if (place->second) {
      leave_out(rows, LeftOutAs::unused, "measured on " + device, table.place());
      continue;
    }
    if (!device.empty()) ++rows.devices[device];
    add_version(rows, framework_of(table.text("framework")), table.text("version"));
    kind.read(table, rows);
  }
  if (rows.tables.back().rows == 0) throw Error(path + ": a header without rows");
}

}  // namespace roofcast
