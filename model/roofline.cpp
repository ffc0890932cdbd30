#include "model/roofline.hpp"
