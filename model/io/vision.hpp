// Parameters of a multimodal model's vision encoder and projector.
#pragma once

#include <cstdint>
#include <optional>

#include "model/io/config_fields.hpp"

namespace roofcast {

/// 0 if the config has no tower, nullopt if it has one of unknown shape. `hidden` is the width of
/// the language model.
std::optional<std::int64_t> vision_parameters(const Fields& top, std::int64_t hidden);

}  // namespace roofcast
