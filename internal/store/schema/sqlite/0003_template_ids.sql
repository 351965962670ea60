-- +goose Up
-- What the provider calls a template, and whether it may be used.
ALTER TABLE templates ADD COLUMN external_id TEXT NOT NULL DEFAULT '';
ALTER TABLE templates ADD COLUMN disabled INTEGER NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE templates DROP COLUMN disabled;
ALTER TABLE templates DROP COLUMN external_id;
