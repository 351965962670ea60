-- +goose Up
-- works with: 1
-- What a later release may do to a database, for tests alone: no release has this file. It adds to tables that are large and busy, makes a
-- table and fills it from others.
ALTER TABLE posthouse_messages ADD COLUMN weight INTEGER NOT NULL DEFAULT 1;
ALTER TABLE posthouse_queue ADD COLUMN note TEXT NOT NULL DEFAULT '';
ALTER TABLE posthouse_settled ADD COLUMN note TEXT NOT NULL DEFAULT '';
CREATE INDEX posthouse_queue_touched ON posthouse_queue (tenant, updated_at);
CREATE TABLE posthouse_notes (
  tenant TEXT NOT NULL,
  channel TEXT NOT NULL,
  note TEXT NOT NULL DEFAULT '',
  PRIMARY KEY (tenant, channel)
) WITHOUT ROWID;
INSERT INTO posthouse_notes (tenant, channel, note) SELECT tenant, name, 'upgraded' FROM posthouse_channels;
UPDATE posthouse_queue SET note = 'upgraded' WHERE note = '';

-- +goose Down
DROP TABLE posthouse_notes;
