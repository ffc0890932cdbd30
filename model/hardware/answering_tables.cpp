#include "model/hardware/answering_tables.hpp"

#include "model/curves/kernel_tables.hpp"

namespace roofcast {

bool has_tables_for(const Gpu& gpu, std::string_view engine) {
  return gpu.tables != nullptr && gpu.tables->answer_for(engine);
}

}  // namespace roofcast
