-- +goose Up
-- What the provider calls a template, and whether it may be used.
ALTER TABLE templates ADD COLUMN external_id text COLLATE "C" NOT NULL DEFAULT '', ADD COLUMN disabled smallint NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE templates DROP COLUMN disabled, DROP COLUMN external_id;
