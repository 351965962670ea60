-- +goose Up
-- What few messages have, as JSON: a clock, the provider's template, the reminder.
ALTER TABLE messages ADD COLUMN options TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE messages DROP COLUMN options;
