-- +goose Up
-- works with: 1
-- Which messages become one: every version of every digest, as JSON.
CREATE TABLE posthouse_digests (
  tenant TEXT NOT NULL,
  name TEXT NOT NULL,
  version INTEGER NOT NULL,
  doc TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (tenant, name, version)
) WITHOUT ROWID;

-- +goose Down
DROP TABLE posthouse_digests;
