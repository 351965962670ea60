-- +goose Up
-- works with: 1
-- What is found in a long audit log: the changes of a thing, of a kind, and by somebody.
CREATE INDEX posthouse_audit_target ON posthouse_audit (tenant, target, id);
CREATE INDEX posthouse_audit_action ON posthouse_audit (tenant, action, id);
CREATE INDEX posthouse_audit_actor ON posthouse_audit (tenant, key_id, id);

-- +goose Down
DROP INDEX posthouse_audit_actor;
DROP INDEX posthouse_audit_action;
DROP INDEX posthouse_audit_target;
