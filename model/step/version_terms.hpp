// What single versions of an engine run on one vendor's chips that neither kernel tables nor
// efficiencies know: a table, a row for each such change with its source. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/units.hpp"
#include "model/curves/operator_shape.hpp"
#include "model/deployment.hpp"

namespace roofcast {

/// A product that an engine's versions run in a kernel that was not tuned for it.
struct UntunedProduct {
  std::string_view engine;  // how its presets' names begin
  std::string_view chip;    // compute capability
  std::string_view from;    // the first version with the kernel
  std::string_view before;  // the first version without it
  std::string_view format;  // of the weights
  std::int64_t outputs = 0;
  std::int64_t inputs = 0;
  Seconds least{};  // of one call, whatever the number of rows
  std::string_view source;
};

std::span<const UntunedProduct> untuned_products();

/// What one call of a product takes at least in the version asked for, where nobody timed it on the
/// GPU; 0 where no row says so, for an engine whose version is not stated, and for one that is
/// stated less exactly than the row ("sglang-0.5").
Seconds least_product_time(const Deployment& deployment, const OperatorShape& product);

}  // namespace roofcast
