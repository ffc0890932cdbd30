// Kernels beside attention and plain products: what latent attention absorbs, recurrent mixers, and
// the quantisation of activations.
#include <utility>
#include <vector>

#include "calibrate/tables/table_rows.hpp"
#include "model/curves/curve_source.hpp"

namespace roofcast {

namespace {

// DeepSeek-V2 and V3, arXiv 2412.19437 section 4.2: the latent, and a head's keys without their
// rotary part, and its values.
constexpr std::int64_t kLatent = 512;
constexpr std::int64_t kHead = 128;

std::optional<std::int64_t> phase_of(const TableFile& table) {
  if (table.text("phase") == "context") return 0;
  if (table.text("phase") == "generation") return 1;
  return std::nullopt;
}

/// Whether the kernel is the convolution; the other continues or scans the state.
bool is_convolution(const TableFile& table) {
  return table.text("kernel_source").starts_with("causal_conv1d");
}

/// Until vLLM 0.24 and SGLang 0.5.14, and in TensorRT-LLM's tables, only the keys' channels were
/// convolved; models convolve queries, keys and values.
bool convolves_keys_alone(const TableFile& table) {
  const std::string framework = framework_of(table.text("framework"));
  if (framework == "vLLM") return is_older(table.text("version"), "0.24");
  if (framework == "SGLang") return is_older(table.text("version"), "0.5.14");
  return true;
}

struct RecurrentRow {
  OperatorShape shape{};
  std::string mixer{};  // "gated_delta", "mamba2"
};

void add_recurrent(const TableFile& table, RecurrentRow row, ImportedRows& rows) {
  const auto phase = phase_of(table);
  const auto sequences = table.count("batch_size", 1);
  const auto tokens = table.count("seq_len", 1);
  if (!phase || !sequences || !tokens) return refuse_number(table, rows);
  const bool continues = *phase == 1;
  row.shape.family = OperatorFamily::recurrent;
  row.shape.name = row.mixer +
                   (is_convolution(table) ? "_conv"
                    : continues           ? ""
                                          : "_scan") +
                   (continues ? "_update" : "");
  if (is_convolution(table)) row.shape.cache = DType::bf16;
  add_row(table, row.shape, kernel_of(table), static_cast<double>(*tokens),
          static_cast<double>(*sequences), rows);
}

}  // namespace

// One of two products: queries to the latent's width (pre), the latent's sum to values (post). fp8
// includes the quantisation of its input.
void read_latent_product(const TableFile& table, ImportedRows& rows) {
  const auto format = format_of(table.text("bmm_dtype"));
  if (!format) {
    leave_out(rows, LeftOutAs::unused, "number format " + table.text("bmm_dtype"), table.place());
    return;
  }
  const auto tokens = table.count("num_tokens", 1);
  const auto heads = table.count("num_heads", 1);
  if (!tokens || !heads) return refuse_number(table, rows);
  const bool pre = table.text("op_name") == "mla_gen_pre";
  add_row(table,
          {.family = OperatorFamily::gemm,
           .format = *format,
           .outputs = pre ? kLatent : kHead,
           .inputs = pre ? kHead : kLatent,
           .query_heads = *heads},
          kernel_of(table), static_cast<double>(*tokens), 0, rows);
}

void read_gated_delta(const TableFile& table, ImportedRows& rows) {
  if (is_convolution(table) && convolves_keys_alone(table)) {
    leave_out(rows, LeftOutAs::refused, "a convolution over the keys' channels alone",
              table.place());
    return;
  }
  const auto taps = table.count("d_conv", 1);
  const auto key_heads = table.count("num_k_heads", 1);
  const auto key_dim = table.count("head_k_dim", 1);
  const auto heads = table.count("num_v_heads", 1);
  const auto value_dim = table.count("head_v_dim", 1);
  if (!taps || !key_heads || !key_dim || !heads || !value_dim || *key_heads > *heads) {
    return refuse_number(table, rows);
  }
  // The state is of fp32 as Qwen3.5 asks for; TensorRT-LLM's table has it in 16 bits.
  const bool wide = table.text("framework") != "TRTLLM";
  add_recurrent(table,
                {.shape = {.cache = wide ? DType::fp32 : DType::bf16,
                           .outputs = *taps,
                           .query_heads = *heads,
                           .kv_heads = *key_heads,
                           .head_dim = *key_dim,
                           .value_dim = *value_dim},
                 .mixer = "gated_delta"},
                rows);
}

void read_mamba2(const TableFile& table, ImportedRows& rows) {
  const auto taps = table.count("d_conv", 1);
  const auto groups = table.count("n_groups", 1);
  const auto state = table.count("d_state", 1);
  const auto heads = table.count("nheads", 1);
  const auto head_dim = table.count("head_dim", 1);
  if (!taps || !groups || !state || !heads || !head_dim || *groups > *heads) {
    return refuse_number(table, rows);
  }
  add_recurrent(table,
                {.shape = {.cache = DType::bf16,
                           .outputs = *taps,
                           .query_heads = *heads,
                           .kv_heads = *groups,
                           .head_dim = *state,
                           .value_dim = *head_dim},
                 .mixer = "mamba2"},
                rows);
}

// `scale_matrix`: by a scale that is known. `compute_scale`: what a kernel that also finds the
// scale of each row takes beyond that, a difference of two times that is cut at 0.
void read_quantisation(const TableFile& table, ImportedRows& rows) {
  const auto m = table.count("m", 1);
  const auto k = table.count("k", 1);
  const auto latency = table.number("latency");
  if (!m || !k || !latency) return refuse_number(table, rows);
  if (table.text("quant_dtype") != "fp8") {
    leave_out(rows, LeftOutAs::unused, "quantisation to " + table.text("quant_dtype"),
              table.place());
    return;
  }
  const bool scales = table.text("op_name") == "compute_scale";
  if (scales && *latency == 0) {
    leave_out(rows, LeftOutAs::duplicate, "finding scales takes no longer than using known ones",
              table.place());
    return;
  }
  add_row(table,
          {.family = OperatorFamily::memory_bound,
           .name = scales ? kFindingScales : kQuantising,
           .inputs = *k},
          kernel_of(table), static_cast<double>(*m) * static_cast<double>(*k) * kQuantisedBytes, 0,
          rows);
}

}  // namespace roofcast
