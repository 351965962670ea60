-- +goose Up
-- works with: 1
-- The deliveries of notifications to telephones, by the number: who answers by text message names none of them.
CREATE TABLE posthouse_answerable (
  tenant text COLLATE "C" NOT NULL,
  channel text COLLATE "C" NOT NULL,
  address text COLLATE "C" NOT NULL,
  delivery text COLLATE "C" NOT NULL,
  until_at bigint NOT NULL,
  PRIMARY KEY (tenant, channel, address, delivery)
);
CREATE INDEX posthouse_answerable_until ON posthouse_answerable (until_at);

-- +goose Down
DROP TABLE posthouse_answerable;
