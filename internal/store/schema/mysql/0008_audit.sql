-- +goose Up
-- works with: 1
-- What is found in a long audit log: the changes of a thing, of a kind, and by somebody.
ALTER TABLE posthouse_audit ADD KEY posthouse_audit_target (tenant, target, id), ADD KEY posthouse_audit_action (tenant, action, id), ADD KEY posthouse_audit_actor (tenant, key_id, id);

-- +goose Down
ALTER TABLE posthouse_audit DROP KEY posthouse_audit_target, DROP KEY posthouse_audit_action, DROP KEY posthouse_audit_actor;
