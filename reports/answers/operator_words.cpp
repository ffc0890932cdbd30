#include "reports/answers/operator_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace roofcast {

const char* family_size(OperatorFamily family) {
  switch (family) {
    case OperatorFamily::gemm:
    case OperatorFamily::moe:
      return "tokens";
    case OperatorFamily::recurrent:
    case OperatorFamily::prefill_attention:
      return "new tokens of a sequence";
    case OperatorFamily::decode_attention:
      return "sequences";
    case OperatorFamily::memory_bound:
    case OperatorFamily::collective:
      break;
  }
  return "bytes";
}

std::string family_words(OperatorFamily family) {
  std::string words(name_of(family));
  std::replace(words.begin(), words.end(), '_', ' ');
  return words;
}

std::string operator_label(const OperatorShape& shape) {
  switch (shape.family) {
    case OperatorFamily::gemm:
      return fmt::format("{}{} {} x {}",
                         shape.query_heads > 0 ? fmt::format("{} of ", shape.query_heads) : "",
                         shape.format, shape.outputs, shape.inputs);
    case OperatorFamily::moe:
      return fmt::format("{} {} experts of {} x {}", shape.format, shape.experts, shape.outputs,
                         shape.inputs);
    case OperatorFamily::prefill_attention:
    case OperatorFamily::decode_attention:
      return fmt::format("{} {}/{} heads of {}{}{}", name_of(shape.cache), shape.query_heads,
                         shape.kv_heads, shape.head_dim,
                         shape.beside_prefill ? ", in a call with prefill" : "",
                         shape.projections > 0 ? ", the whole block in " + shape.format : "");
    case OperatorFamily::collective:
      return fmt::format("{} over {}", name_of(shape.exchange), shape.ranks);
    case OperatorFamily::recurrent:
      return fmt::format("{} {}/{} heads of {}", shape.name, shape.query_heads, shape.kv_heads,
                         shape.head_dim);
    case OperatorFamily::memory_bound:
      break;
  }
  return shape.name;
}

std::vector<MeasuredPoint> points_drawn(const MeasuredCurve& curve) {
  if (!has_second_axis(curve.shape.family)) return curve.points;
  std::map<double, std::size_t> counts;
  for (const MeasuredPoint& point : curve.points) ++counts[point.y];
  const auto max = std::max_element(counts.begin(), counts.end(), [](const auto& a, const auto& b) {
    return a.second < b.second;
  });
  std::vector<MeasuredPoint> points;
  for (const MeasuredPoint& point : curve.points) {
    if (max != counts.end() && point.y == max->first) points.push_back(point);
  }
  return points;
}

}  // namespace roofcast
