#include "simulator/time.hpp"
