-- +goose Up
-- works with: 1
-- Users of the directory have a time zone, a language and a manager, who is another user and may not be known yet.
ALTER TABLE posthouse_users ADD COLUMN time_zone varchar(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '';
ALTER TABLE posthouse_users ADD COLUMN language varchar(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '';
ALTER TABLE posthouse_users ADD COLUMN manager varchar(255) NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE posthouse_users DROP COLUMN manager;
ALTER TABLE posthouse_users DROP COLUMN language;
ALTER TABLE posthouse_users DROP COLUMN time_zone;
