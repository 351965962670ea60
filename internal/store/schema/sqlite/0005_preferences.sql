-- +goose Up
-- works with: 1
-- What users of the directory want of messages, as JSON. links counts how often the links to a user's page were revoked.
CREATE TABLE posthouse_preferences (
  tenant TEXT NOT NULL,
  user_id TEXT NOT NULL,
  doc TEXT NOT NULL,
  links INTEGER NOT NULL DEFAULT 0,
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (tenant, user_id)
) WITHOUT ROWID;

-- +goose Down
DROP TABLE posthouse_preferences;
