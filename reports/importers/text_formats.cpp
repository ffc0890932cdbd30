#include "reports/importers/text_formats.hpp"

#include <array>

namespace roofcast {
namespace {

constexpr std::array kTextFormats = {
    TextFormat{"vllm-console", is_vllm_console, read_vllm_console},
    TextFormat{"prometheus", is_prometheus, read_prometheus},
    TextFormat{"vllm-sweep-table", is_vllm_sweep_table, read_vllm_sweep_table},
    TextFormat{"aiperf-table", is_aiperf_table, read_aiperf_table},
    TextFormat{"guidellm-table", is_guidellm_table, read_guidellm_table},
    TextFormat{"guidellm-yaml", is_guidellm_yaml, read_guidellm_yaml},
    TextFormat{"llm-d-yaml", is_llmd_yaml, read_llmd_yaml},
    TextFormat{"start-up-log", is_start_up_log, read_start_up_log},
};

}  // namespace

std::span<const TextFormat> text_formats() { return kTextFormats; }

}  // namespace roofcast
