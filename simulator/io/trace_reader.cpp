#include "simulator/io/trace_reader.hpp"
