#include "model/operators.hpp"
