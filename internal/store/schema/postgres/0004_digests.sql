-- +goose Up
-- works with: 1
-- Which messages become one: every version of every digest, as JSON.
CREATE TABLE posthouse_digests (
  tenant text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  version integer NOT NULL,
  doc text NOT NULL,
  created_at bigint NOT NULL,
  PRIMARY KEY (tenant, name, version)
);

-- +goose Down
DROP TABLE posthouse_digests;
