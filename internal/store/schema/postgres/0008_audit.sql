-- +goose NO TRANSACTION
-- +goose Up
-- works with: 1
-- What is found in a long audit log: the changes of a thing, of a kind, and by somebody. The indexes are made beside those who write: each
-- step may be repeated.
DROP INDEX CONCURRENTLY IF EXISTS posthouse_audit_target;
CREATE INDEX CONCURRENTLY posthouse_audit_target ON posthouse_audit (tenant, target, id);
DROP INDEX CONCURRENTLY IF EXISTS posthouse_audit_action;
CREATE INDEX CONCURRENTLY posthouse_audit_action ON posthouse_audit (tenant, action, id);
DROP INDEX CONCURRENTLY IF EXISTS posthouse_audit_actor;
CREATE INDEX CONCURRENTLY posthouse_audit_actor ON posthouse_audit (tenant, key_id, id);

-- +goose Down
DROP INDEX CONCURRENTLY posthouse_audit_actor;
DROP INDEX CONCURRENTLY posthouse_audit_action;
DROP INDEX CONCURRENTLY posthouse_audit_target;
