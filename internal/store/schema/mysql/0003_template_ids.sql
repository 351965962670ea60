-- +goose Up
-- One statement, and the only one of its migration: MySQL commits it by itself.
-- What the provider calls a template, and whether it may be used.
ALTER TABLE templates ADD COLUMN external_id varchar(255) NOT NULL DEFAULT '', ADD COLUMN disabled smallint NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE templates DROP COLUMN disabled, DROP COLUMN external_id;
