-- +goose Up
-- works with: 1
-- What users of the directory want of messages, as JSON. links counts how often the links to a user's page were revoked.
CREATE TABLE posthouse_preferences (
  tenant text COLLATE "C" NOT NULL,
  user_id text COLLATE "C" NOT NULL,
  doc text NOT NULL,
  links bigint NOT NULL DEFAULT 0,
  updated_at bigint NOT NULL,
  PRIMARY KEY (tenant, user_id)
);

-- +goose Down
DROP TABLE posthouse_preferences;
