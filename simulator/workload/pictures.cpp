#include <fmt/format.h>

#include "base/error.hpp"
#include "simulator/workload/generate_parts.hpp"

namespace roofcast {
namespace {

/// Beyond any prompt's pictures, and any picture's tokens.
constexpr std::int64_t kMaxPictures = 10'000;
constexpr std::int64_t kMaxPictureTokens = 65'535;

void check_pictures(const SyntheticWorkload& spec) {
  const Pictures& pictures = spec.pictures;
  if (pictures.count < 0 || pictures.count > kMaxPictures) {
    throw Error(fmt::format("`pictures` is {}, expected 0 to {}", pictures.count, kMaxPictures));
  }
  if (pictures.count == 0) return;
  if (pictures.tokens < 1 || pictures.tokens > kMaxPictureTokens) {
    throw Error(fmt::format("`picture_tokens` is {}, expected 1 to {} tokens of the prompt",
                            pictures.tokens, kMaxPictureTokens));
  }
  if (spec.sessions || (spec.shared_prefix && spec.shared_prefix->prompts_per_group > 0)) {
    throw Error("`pictures`: not with sessions or repeated questions");
  }
}

}  // namespace

void add_pictures(Workload& workload, const SyntheticWorkload& spec) {
  check_pictures(spec);
  const Pictures& pictures = spec.pictures;
  if (pictures.count == 0) return;
  for (Request& request : workload.requests) {
    std::int64_t shared = 0;
    for (std::uint32_t i = 0; i < request.contents_count; ++i) {
      shared += workload.contents[request.contents_begin + i].tokens;
    }
    request.input_tokens += pictures.count * pictures.tokens;
    if (request.input_tokens > kMaxTokens) {
      throw Error(fmt::format("`pictures`: a prompt of {} tokens with them, expected at most {}",
                              request.input_tokens, kMaxTokens));
    }
    request.pictures = static_cast<std::uint16_t>(pictures.count);
    request.picture_tokens = static_cast<std::uint16_t>(pictures.tokens);
    request.pictures_begin = static_cast<std::int32_t>(shared);
  }
}

}  // namespace roofcast
