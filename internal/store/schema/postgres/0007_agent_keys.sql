-- +goose Up
-- The agent that a key belongs to.
ALTER TABLE api_keys ADD COLUMN agent text COLLATE "C" NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE api_keys DROP COLUMN agent;
