#include "reports/importers/formats.hpp"

#include <array>

namespace roofcast {
namespace {

constexpr std::array kJsonFormats = {
    JsonFormat{"vllm-bench-serve", is_vllm_serve, each_object<read_vllm_serve>},
};

}  // namespace

std::span<const JsonFormat> json_formats() { return kJsonFormats; }

}  // namespace roofcast
