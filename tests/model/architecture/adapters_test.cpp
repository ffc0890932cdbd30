#include "model/architecture/adapters.hpp"

#include <gtest/gtest.h>

#include "tests/support/shapes.hpp"

namespace roofcast {
namespace {

// Llama-3.1-8B, in each of 32 layers: query, key and value 3 x 4,096 + 6,144, output 4,096 + 4,096,
// gate and up 2 x 4,096 + 28,672, down 14,336 + 4,096 elements.
TEST(Adapters, HaveTwoMatricesBesideEachOfTheModels) {
  const AdapterShape shape = adapter_shape(test::llama_3_1_8b(), {}, {0, 32});
  EXPECT_EQ(shape.elements, 32 * (18'432 + 8'192 + 36'864 + 18'432));
  EXPECT_EQ(shape.elements_used, shape.elements);
  EXPECT_EQ(shape.matrices, 32 * 4);
}

// On two ranks inputs or outputs are halved: 3 x 4,096 + 3,072, 2,048 + 4,096, 2 x 4,096 + 14,336
// and 7,168 + 4,096.
TEST(Adapters, AreSplitAsTheMatricesAre) {
  const AdapterShape shape = adapter_shape(test::llama_3_1_8b(), {.tensor = 2}, {0, 1});
  EXPECT_EQ(shape.elements, 15'360 + 6'144 + 22'528 + 11'264);
}

// A token picks two of Mixtral's eight experts: 3 x 4,096 + 6,144 and 8,192 of attention, the
// router's 4,096 + 8, and 2 x 4,096 + 28,672 and 14,336 + 4,096 of an expert.
TEST(Adapters, OfExpertsAreReadByPick) {
  const AdapterShape shape = adapter_shape(test::mixtral_8x7b(), {}, {0, 1});
  const double expert = 36'864 + 18'432;
  const double rest = 18'432 + 8'192 + 4'104;
  EXPECT_EQ(shape.elements, rest + 8 * expert);
  EXPECT_EQ(shape.elements_used, rest + 2 * expert);
}

}  // namespace
}  // namespace roofcast
