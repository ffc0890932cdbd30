#include "model/memory_plan.hpp"
