-- +goose Up
-- works with: 1
-- Users of the directory have a time zone, a language and a manager, who is another user and may not be known yet.
ALTER TABLE posthouse_users ADD COLUMN time_zone text NOT NULL DEFAULT '';
ALTER TABLE posthouse_users ADD COLUMN language text NOT NULL DEFAULT '';
ALTER TABLE posthouse_users ADD COLUMN manager text COLLATE "C" NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE posthouse_users DROP COLUMN manager;
ALTER TABLE posthouse_users DROP COLUMN language;
ALTER TABLE posthouse_users DROP COLUMN time_zone;
