#include "reports/store.hpp"
