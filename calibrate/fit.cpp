#include "calibrate/fit.hpp"
