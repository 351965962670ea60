-- +goose Up
-- The agent that a key belongs to.
ALTER TABLE api_keys ADD COLUMN agent TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE api_keys DROP COLUMN agent;
