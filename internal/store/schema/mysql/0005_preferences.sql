-- +goose Up
-- works with: 1
-- What users of the directory want of messages, as JSON. links counts how often the links to a user's page were revoked.
CREATE TABLE posthouse_preferences (
  tenant varchar(128) NOT NULL,
  user_id varchar(255) NOT NULL,
  doc mediumtext NOT NULL,
  links bigint NOT NULL DEFAULT 0,
  updated_at bigint NOT NULL,
  PRIMARY KEY (tenant, user_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin COMMENT='posthouse';

-- +goose Down
DROP TABLE posthouse_preferences;
