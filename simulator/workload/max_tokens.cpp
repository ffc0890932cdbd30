#include <fmt/format.h>

#include "base/wording.hpp"
#include "simulator/workload/workload.hpp"

namespace roofcast {

void declare_max_tokens(Workload& workload, std::optional<std::int64_t> declared) {
  if (!declared) return;
  std::int64_t cut = 0;
  for (Request& request : workload.requests) {
    request.max_tokens = *declared;
    if (*declared == kNoMaxTokens || request.output_tokens <= *declared) continue;
    request.output_tokens = *declared;
    ++cut;
  }
  if (cut == 0) return;
  workload.notes.push_back(
      fmt::format("{} cut at max_tokens {}", counted(cut, "output"), *declared));
}

}  // namespace roofcast
