-- +goose Up
-- works with: 1
-- The deliveries of notifications to telephones, by the number: who answers by text message names none of them.
CREATE TABLE posthouse_answerable (
  tenant TEXT NOT NULL,
  channel TEXT NOT NULL,
  address TEXT NOT NULL,
  delivery TEXT NOT NULL,
  until_at INTEGER NOT NULL,
  PRIMARY KEY (tenant, channel, address, delivery)
) WITHOUT ROWID;
CREATE INDEX posthouse_answerable_until ON posthouse_answerable (until_at);

-- +goose Down
DROP TABLE posthouse_answerable;
