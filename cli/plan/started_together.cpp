#include "cli/plan/started_together.hpp"

#include <cstdlib>

namespace roofcast {

bool started_together() {
  return std::getenv("OMPI_COMM_WORLD_SIZE") != nullptr || std::getenv("PMIX_RANK") != nullptr;
}

}  // namespace roofcast
