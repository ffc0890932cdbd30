#include "model/weights.hpp"
