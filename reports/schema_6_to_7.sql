-- Upgrades a store from schema 6 to schema 7: names of runs and traces, as in schema.sql.
PRAGMA user_version = 7;

-- Names that users gave runs.
CREATE TABLE run_names (
  run_id INTEGER PRIMARY KEY REFERENCES runs (id) ON DELETE CASCADE,
  name   TEXT NOT NULL
);

-- Request traces that were given to the page, which questions name.
CREATE TABLE traces (
  name       TEXT PRIMARY KEY,  -- of the file that was given: 'chat.csv'
  created_at TEXT NOT NULL,     -- ISO 8601, UTC
  requests   INTEGER NOT NULL CHECK (requests > 0),
  duration_s REAL NOT NULL,     -- from the first arrival to the last
  content    BLOB NOT NULL      -- the file, plain or gzip-compressed
);
