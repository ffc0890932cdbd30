#include "simulator/io/scenario_reader.hpp"
