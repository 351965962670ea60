-- +goose Up
-- works with: 1
-- What a later release may do to a database, for tests alone: no release has this file. It adds to tables that are large and busy, makes a
-- table and fills it from others. A column with a constant default is no pass over the rows.
ALTER TABLE posthouse_messages ADD COLUMN weight integer NOT NULL DEFAULT 1;
ALTER TABLE posthouse_queue ADD COLUMN note text NOT NULL DEFAULT '';
ALTER TABLE posthouse_settled ADD COLUMN note text NOT NULL DEFAULT '';
CREATE TABLE posthouse_notes (
  tenant text COLLATE "C" NOT NULL,
  channel text COLLATE "C" NOT NULL,
  note text NOT NULL DEFAULT '',
  PRIMARY KEY (tenant, channel)
);
INSERT INTO posthouse_notes (tenant, channel, note) SELECT tenant, name, 'upgraded' FROM posthouse_channels;
UPDATE posthouse_queue SET note = 'upgraded' WHERE note = '';

-- +goose Down
DROP TABLE posthouse_notes;
