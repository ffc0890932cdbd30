// Operators of one rank by size: the shape, which stays the same from step to step, and the work of
// one call at the sizes that vary. Measured curves are keyed by shape, and their physical base is
// computed from the work.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.hpp"
#include "model/architecture/dtype.hpp"

namespace roofcast {

enum class OperatorFamily {
  gemm,  // weights times activations
  moe,   // routed experts
  prefill_attention,
  decode_attention,
  memory_bound,  // norms, RoPE, activations, KV writes, embedding, sampling
  collective,
  recurrent,  // convolution and state of linear attention and state-space mixers
};
constexpr int kOperatorFamilies = 7;

std::string_view name_of(OperatorFamily family);

/// How a collective combines its message.
enum class Exchange { all_reduce, all_gather, reduce_scatter, all_to_all, point_to_point };

std::string_view name_of(Exchange exchange);

/// Fields that a family does not use keep their defaults, so that equal operators compare equal.
///   gemm               format, outputs (N), inputs (K); query_heads above 0: one such product for
///                      each head, batched, where each token has an input of its own for each
///   moe                format, outputs (width of one expert), inputs (hidden size), experts,
///                      experts_per_token, gated: a layer's experts on one rank, from chosen and
///                      sorted token-expert pairs to the weighted sum of their results; name of
///                      the kernels, where an engine has several (model/step/expert_kernels.hpp);
///                      power_law; expert_ranks above 1: one rank's part of `experts` spread whole
///                      over this many ranks
///   *_attention        cache, query_heads, kv_heads, head_dim, value_dim, latent, window,
///                      fp8_arithmetic; decode also beside_prefill, prefill also prompts; a whole
///                      block also format, inputs (hidden size), projections, entry, compression,
///                      local_tokens, index_heads, index_dim
///   memory_bound       name; quantise_activations and activation_scales also inputs (of a row)
///   collective         exchange, ranks
///   recurrent          name (which kernel), cache (of the state), query_heads (value heads),
///                      kv_heads (key heads, or groups), head_dim (of keys, or the state's),
///                      value_dim, outputs (taps of the convolution)
struct OperatorShape {
  OperatorFamily family = OperatorFamily::gemm;
  std::string name{};         // Work::name ("norms", "rope", "activation", ...)
  std::string format{};       // a name of kernel_format()
  DType cache = DType::bf16;  // KV element type
  std::int64_t outputs = 0;
  std::int64_t inputs = 0;
  std::int64_t experts = 0;
  std::int64_t experts_per_token = 0;
  bool gated = false;
  std::int64_t query_heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;  // of queries and keys; latent + rotary for latent attention
  std::int64_t value_dim = 0;
  /// One cached row per token is both key and value of all heads (absorbed latent attention).
  bool latent = false;
  /// The part of decoding sequences in a kernel call that also computes prompts.
  bool beside_prefill = false;
  int ranks = 1;
  Exchange exchange = Exchange::all_reduce;
  int expert_ranks = 1;
  /// How unevenly experts are picked: hundredths of the exponent of a power law of their picks; 0:
  /// evenly.
  int power_law = 0;
  /// Tokens that a token attends to at most, its own among them; 0: all.
  std::int64_t window = 0;
  /// Prompts of equal length and prefix in one call.
  int prompts = 1;
  /// Queries are quantised too, so that products of attention run in fp8.
  bool fp8_arithmetic = false;
  // Attention timed as an engine's whole block: projections, norms, rotary embedding, cache write
  // and attention.
  /// Elements of the block's matrices on one rank; 0: attention alone.
  std::int64_t projections = 0;
  /// Elements of a cached entry, whatever attention expands them to.
  std::int64_t entry = 0;
  std::int64_t compression = 1;   // tokens of a cached entry
  std::int64_t local_tokens = 0;  // attended to besides, uncompressed
  // The indexer that selects the `window` entries; 0: none.
  std::int64_t index_heads = 0;
  std::int64_t index_dim = 0;

  auto operator<=>(const OperatorShape&) const = default;
};

/// Whether the family's size has a second axis (attention: tokens already in the cache; recurrent
/// kernels: sequences).
bool has_second_axis(OperatorFamily family);

/// Whether its size (x) is bytes, not tokens or sequences.
bool is_sized_in_bytes(OperatorFamily family);

/// Attention of either kind.
bool is_attention(OperatorFamily family);

/// How kernels process a stored format.
struct KernelFormat {
  std::string_view name;
  double weight_bits = 16;  // including scales
  double input_bits = 16;   // of activations as the kernel reads them
  double output_bits = 16;  // of its result
  DType compute = DType::bf16;
};

/// A format that measured curves may name; null if `name` is not one.
const KernelFormat* kernel_format(std::string_view name);

/// All such formats, for messages.
std::vector<std::string> kernel_format_names();

/// The name under which kernels for `format` are timed. A format that is multiplied in another
/// arithmetic than its kernels' (8-bit weights as bf16) gets a name that no curve has.
std::string kernel_format_name(const WeightFormat& format);

/// Pairs of `tokens` new tokens and what each attends to if that is at most the last `window`, its
/// own among them; `cached` tokens precede them.
double windowed_pairs(double tokens, double cached, double window);

/// Compulsory work of one call.
struct ShapeWork {
  Flops flops{};
  Bytes bytes{};         // weights, cache and activations, once each
  Bytes stored_bytes{};  // weights and cache among them
  double waves = 0;      // thread blocks over the device's multiprocessors, not rounded
};

/// `x` and `y` are the sizes that vary:
///   gemm                x tokens
///   moe                 x tokens, of all expert ranks together
///   prefill_attention   x new tokens of each prompt, y tokens cached before each
///   decode_attention    x sequences, y tokens attended by each (the mean)
///   memory_bound        x bytes read and written
///   collective          x bytes of the message: of the gathered result for a gather, of all that a
///                       rank holds beforehand for a reduce-scatter and an all-to-all
/// y is 0 if there is only one axis. Waves: tiles of 128 x 128 outputs (gemm, moe), tiles of 128
/// queries of one head (prefill), (sequence, KV head) pairs beyond the first wave (decode). They
/// are not rounded up: kernels choose other tiles and split the inner dimension, so the steps would
/// be in the wrong places. Precondition: x >= 0, y >= 0, format known.
/// For uneven experts it is the work of evenly picked ones. For a whole attention block it is the
/// least work that any form needs: its matrices once, the entries that one token selects, keys and
/// values of `head_dim` and `value_dim`.
ShapeWork shape_work(const OperatorShape& shape, double x, double y, int multiprocessors);

/// The shape with the least work that a call of `shape` may have had: uneven routing may pick as
/// few experts as one token has.
OperatorShape min_work_shape(const OperatorShape& shape);

}  // namespace roofcast
