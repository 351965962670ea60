-- +goose NO TRANSACTION
-- +goose Up
-- works with: 1
-- An index beside those who write: no transaction, so that nobody waits for it, and each step may be repeated. One that was killed leaves an
-- index that is not valid, which is removed first.
DROP INDEX CONCURRENTLY IF EXISTS posthouse_queue_touched;
CREATE INDEX CONCURRENTLY posthouse_queue_touched ON posthouse_queue (tenant, updated_at);

-- +goose Down
DROP INDEX CONCURRENTLY posthouse_queue_touched;
