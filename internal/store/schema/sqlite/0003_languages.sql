-- +goose Up
-- works with: 1
-- A template has texts in several languages: language is that of its title and text, texts are the others, as JSON. A tenant has a language.
ALTER TABLE posthouse_templates ADD COLUMN language TEXT NOT NULL DEFAULT '';
ALTER TABLE posthouse_templates ADD COLUMN texts TEXT NOT NULL DEFAULT '';
ALTER TABLE posthouse_tenants ADD COLUMN language TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE posthouse_tenants DROP COLUMN language;
ALTER TABLE posthouse_templates DROP COLUMN texts;
ALTER TABLE posthouse_templates DROP COLUMN language;
