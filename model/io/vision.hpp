// Parameters of the vision encoder and projector of a multimodal model.
#pragma once

#include <cstdint>
#include <optional>

#include "model/io/config_fields.hpp"

namespace roofcast {

/// Nothing when the config describes a tower whose shape is not known here, 0 when it has none.
/// `hidden` is the width of the language model.
std::optional<std::int64_t> vision_parameters(const Fields& top, std::int64_t hidden);

}  // namespace roofcast
