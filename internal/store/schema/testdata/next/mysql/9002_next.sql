-- +goose Up
-- works with: 1
-- What a later release may do to a database, for tests alone: no release has this file. It adds to tables that are large and busy, makes a
-- table and fills it from others. Each statement commits by itself and may find its work done: see migratorMySQL.
ALTER TABLE posthouse_messages ADD COLUMN weight int NOT NULL DEFAULT 1;
ALTER TABLE posthouse_queue ADD COLUMN note varchar(128) NOT NULL DEFAULT '';
ALTER TABLE posthouse_settled ADD COLUMN note varchar(128) NOT NULL DEFAULT '';
ALTER TABLE posthouse_queue ADD KEY posthouse_queue_touched (tenant, updated_at);
CREATE TABLE posthouse_notes (
  tenant varchar(128) NOT NULL,
  channel varchar(128) NOT NULL,
  note varchar(128) NOT NULL DEFAULT '',
  PRIMARY KEY (tenant, channel)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin COMMENT='posthouse';
INSERT IGNORE INTO posthouse_notes (tenant, channel, note) SELECT tenant, name, 'upgraded' FROM posthouse_channels;
UPDATE posthouse_queue SET note = 'upgraded' WHERE note = '';

-- +goose Down
DROP TABLE posthouse_notes;
