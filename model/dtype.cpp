#include "model/dtype.hpp"
