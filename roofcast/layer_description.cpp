#include "roofcast/layer_description.hpp"

#include <algorithm>
#include <variant>

#include <fmt/format.h>

namespace roofcast {
namespace {

std::string describe(const AttentionSpan& span) {
  switch (span.kind) {
    case AttentionSpan::Kind::full:
      return "";
    case AttentionSpan::Kind::sliding:
      return fmt::format(", sliding window {}", span.tokens);
    case AttentionSpan::Kind::chunked:
      return fmt::format(", chunks of {}", span.tokens);
    case AttentionSpan::Kind::sparse:
      return fmt::format(", sparse top {}", span.tokens);
  }
  return "";
}

struct DescribeMixer {
  std::string operator()(std::monostate) const { return "none"; }
  std::string operator()(const Attention& a) const {
    return fmt::format("attention {}/{} heads x {}{}{}", a.query_heads, a.kv_heads, a.head_dim,
                       describe(a.span), a.reuses_earlier_cache ? ", shares a cache" : "");
  }
  std::string operator()(const LatentAttention& a) const {
    return fmt::format("latent attention {} heads, cache {}+{}{}", a.query_heads, a.kv_lora_rank,
                       a.rope_dim, describe(a.span));
  }
  std::string operator()(const Mamba2& m) const {
    return fmt::format("Mamba-2 {} heads x {}, state {}", m.heads, m.head_dim, m.state);
  }
  std::string operator()(const GatedDeltaNet& g) const {
    return fmt::format("gated delta net {}/{} heads x {}", g.value_heads, g.key_heads, g.value_dim);
  }
  std::string operator()(const LightningAttention& l) const {
    return fmt::format("lightning attention {} heads x {}", l.heads, l.head_dim);
  }
};

struct DescribeFfn {
  std::string operator()(std::monostate) const { return "none"; }
  std::string operator()(const DenseFfn& f) const {
    return fmt::format("dense {}{}", f.intermediate, f.gated ? ", gated" : "");
  }
  std::string operator()(const MoeFfn& f) const {
    std::string text =
        fmt::format("MoE {} x {}, top {}", f.experts, f.expert_intermediate, f.experts_per_token);
    if (f.shared_intermediate > 0) text += fmt::format(", shared {}", f.shared_intermediate);
    return text;
  }
};

}  // namespace

std::vector<LayerKind> layer_kinds(const Transformer& model) {
  std::vector<LayerKind> kinds;
  for (const Layer& layer : model.layers) {
    std::string mixer = std::visit(DescribeMixer{}, layer.mixer);
    std::string ffn = std::visit(DescribeFfn{}, layer.ffn);
    if (mixer != "none") mixer += ", " + layer.mixer_format.name;
    if (ffn != "none") ffn += ", " + layer.ffn_format.name;
    const auto same = std::find_if(kinds.begin(), kinds.end(), [&](const LayerKind& kind) {
      return kind.mixer == mixer && kind.ffn == ffn;
    });
    if (same != kinds.end()) {
      ++same->count;
    } else {
      kinds.push_back({1, std::move(mixer), std::move(ffn)});
    }
  }
  return kinds;
}

}  // namespace roofcast
