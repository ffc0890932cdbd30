#include "model/architecture/transformer.hpp"

#include <algorithm>

namespace roofcast {

std::int64_t attended_tokens(const AttentionSpan& span, std::int64_t context) {
  const std::int64_t all = context + 1;
  switch (span.kind) {
    case AttentionSpan::Kind::full:
    case AttentionSpan::Kind::both:
      return all;
    case AttentionSpan::Kind::sliding:
    case AttentionSpan::Kind::sparse:
      return std::min(all, span.tokens);
    case AttentionSpan::Kind::chunked:
      return context % span.tokens + 1;
  }
  return all;
}

bool is_encoder(const Transformer& model) {
  return std::ranges::any_of(model.layers, [](const Layer& layer) {
    const auto* attention = std::get_if<Attention>(&layer.mixer);
    return attention != nullptr && attention->span.kind == AttentionSpan::Kind::both;
  });
}

}  // namespace roofcast
