#include "reports/numbers.hpp"
