#include "model/io/gpu_reader.hpp"
