#include "model/step_estimate.hpp"
