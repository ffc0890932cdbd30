#include "model/kv_cache.hpp"
