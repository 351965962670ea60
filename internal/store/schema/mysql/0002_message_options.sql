-- +goose Up
-- One statement, and the only one of its migration: MySQL commits it by itself.
-- What few messages have, as JSON: a clock, the provider's template, the reminder.
ALTER TABLE messages ADD COLUMN options mediumtext NOT NULL DEFAULT ('');

-- +goose Down
ALTER TABLE messages DROP COLUMN options;
