#include <fmt/format.h>

#include "base/error.hpp"
#include "simulator/workload/generate_parts.hpp"

namespace roofcast {
namespace {

/// Beyond any prompt's images, and any image's tokens.
constexpr std::int64_t kMaxImages = 10'000;
constexpr std::int64_t kMaxImageTokens = 65'535;

void check_images(const SyntheticWorkload& spec) {
  const Images& images = spec.images;
  if (images.count < 0 || images.count > kMaxImages) {
    throw Error(fmt::format("`images` is {}, expected 0 to {}", images.count, kMaxImages));
  }
  if (images.count == 0) return;
  if (images.tokens < 1 || images.tokens > kMaxImageTokens) {
    throw Error(fmt::format("`image_tokens` is {}, expected 1 to {} tokens of the prompt",
                            images.tokens, kMaxImageTokens));
  }
  if (spec.sessions || (spec.shared_prefix && spec.shared_prefix->prompts_per_group > 0)) {
    throw Error("`images`: not with sessions or repeated questions");
  }
}

}  // namespace

void add_images(Workload& workload, const SyntheticWorkload& spec) {
  check_images(spec);
  const Images& images = spec.images;
  if (images.count == 0) return;
  for (Request& request : workload.requests) {
    std::int64_t shared = 0;
    for (std::uint32_t i = 0; i < request.contents_count; ++i) {
      shared += workload.contents[request.contents_begin + i].tokens;
    }
    request.input_tokens += images.count * images.tokens;
    if (request.input_tokens > kMaxTokens) {
      throw Error(fmt::format("`images`: a prompt of {} tokens with them, expected at most {}",
                              request.input_tokens, kMaxTokens));
    }
    request.images = static_cast<std::uint16_t>(images.count);
    request.image_tokens = static_cast<std::uint16_t>(images.tokens);
    request.images_begin = static_cast<std::int32_t>(shared);
  }
}

}  // namespace roofcast
