// A build without charts has no page; the API works all the same.
#include "serve/page.hpp"

namespace roofcast {

PageFile page_file(std::string_view) { return {}; }

}  // namespace roofcast
