#include "model/architecture/sampling.hpp"

#include "base/names.hpp"

namespace roofcast {
namespace {

constexpr NameTable<SamplingKind, 3> kSamplingNames = {{{SamplingKind::plain, "plain"},
                                                        {SamplingKind::top_p, "top_p"},
                                                        {SamplingKind::penalty, "penalty"}}};

}  // namespace

std::string_view name_of(SamplingKind sampling) { return name_in(kSamplingNames, sampling); }

std::vector<std::string_view> sampling_names() { return names_in(kSamplingNames); }

std::optional<SamplingKind> parse_sampling(std::string_view text) {
  return value_in(kSamplingNames, text);
}

}  // namespace roofcast
