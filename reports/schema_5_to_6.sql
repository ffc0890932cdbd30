-- Upgrades a store from schema 5 to schema 6: answers, as in schema.sql.
PRAGMA user_version = 6;

-- Answers of the commands whose reports need more than figures: which runs an answer made, in its
-- order. A what-if leaves one run a variant, a capacity one.
CREATE TABLE answers (
  run_id       INTEGER PRIMARY KEY REFERENCES runs (id) ON DELETE CASCADE,
  first_run_id INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,  -- of the same answer
  answer_json  TEXT NOT NULL  -- as the command prints it; '' but for the answer's first run
);
CREATE INDEX answers_by_first_run ON answers (first_run_id);
