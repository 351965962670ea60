-- +goose Up
-- works with: 1
-- PostgreSQL makes an index here.
SELECT 1;

-- +goose Down
SELECT 1;
