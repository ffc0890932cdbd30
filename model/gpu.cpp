#include "model/gpu.hpp"
