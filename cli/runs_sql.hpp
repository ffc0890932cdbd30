// roofcast runs --sql: a question in SQL and its answer.
#pragma once

#include <string>

#include "reports/document.hpp"
#include "reports/store_query.hpp"

namespace roofcast {

/// The text of the query: `given` itself, of the file for @FILE, of standard input for "-".
std::string sql_text(const std::string& given);

/// Column names as titles, numbers as SQLite has them, NULL as nothing; in JSON an object a row.
Document sql_document(const QueryAnswer& answer, const std::string& path, const std::string& sql);

}  // namespace roofcast
