-- +goose Up
-- works with: 1
-- Which messages become one: every version of every digest, as JSON.
CREATE TABLE posthouse_digests (
  tenant varchar(128) NOT NULL,
  name varchar(128) NOT NULL,
  version int NOT NULL,
  doc mediumtext NOT NULL,
  created_at bigint NOT NULL,
  PRIMARY KEY (tenant, name, version)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin COMMENT='posthouse';

-- +goose Down
DROP TABLE posthouse_digests;
