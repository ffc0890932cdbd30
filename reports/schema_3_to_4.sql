-- Upgrades a store from schema 3 to schema 4: plans and what they simulated, as in schema.sql.
PRAGMA user_version = 4;

-- Plans: what `roofcast plan` searched for and chose. `runs` has one row of kind 'plan' for each.
CREATE TABLE plans (
  run_id      INTEGER PRIMARY KEY REFERENCES runs (id) ON DELETE CASCADE,
  complete    INTEGER NOT NULL CHECK (complete IN (0, 1)),  -- 0: interrupted, or still running
  answer_json TEXT NOT NULL  -- as the command prints it; '' until complete
);

-- Candidates that plans simulated, each at one load. Rows are added while a plan runs, so that an
-- interrupted one keeps what it simulated; later plans reuse them.
CREATE TABLE evaluations (
  key          TEXT PRIMARY KEY,  -- of version and question: FNV-1a 64, hex
  run_id       INTEGER NOT NULL REFERENCES plans (run_id) ON DELETE CASCADE,  -- simulated it first
  tool_version TEXT NOT NULL,  -- of roofcast: another version may answer differently
  question     TEXT NOT NULL,  -- everything that decides the answer, or a hash of it
  answer       TEXT NOT NULL
);
CREATE INDEX evaluations_by_run ON evaluations (run_id);
