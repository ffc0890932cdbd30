// roofcast runs --sql: an SQL query and its result.
#pragma once

#include <string>

#include "reports/document.hpp"
#include "reports/store_query.hpp"

namespace roofcast {

/// The text of the query: `given` itself, the contents of the file for @FILE, standard input for
/// "-".
std::string sql_text(const std::string& given);

/// Column names as titles, numbers as SQLite prints them, NULL as empty; in JSON one object per
/// row.
Document sql_document(const QueryAnswer& answer, const std::string& path, const std::string& sql);

}  // namespace roofcast
