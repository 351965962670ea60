-- +goose Up
-- One statement, and the only one of its migration: MySQL commits it by itself.
-- The agent that a key belongs to.
ALTER TABLE api_keys ADD COLUMN agent varchar(128) NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE api_keys DROP COLUMN agent;
