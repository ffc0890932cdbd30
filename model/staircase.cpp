#include "model/staircase.hpp"
