-- +goose Up
-- What is to be done at a time, and what is known so far: reminders, and the tasks of workflows. next_at 0 is never.
CREATE TABLE plans (
  tenant TEXT NOT NULL,
  type TEXT NOT NULL,
  id TEXT NOT NULL,
  kind TEXT NOT NULL DEFAULT '',
  ref TEXT NOT NULL DEFAULT '',
  doc TEXT NOT NULL DEFAULT '',
  version INTEGER NOT NULL DEFAULT 1,
  next_at INTEGER NOT NULL DEFAULT 0,
  failures INTEGER NOT NULL DEFAULT 0,
  error TEXT NOT NULL DEFAULT '',
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (tenant, type, id)
);
CREATE INDEX plans_due ON plans (next_at, id) WHERE next_at > 0;
CREATE INDEX plans_ref ON plans (tenant, type, kind, ref, id) WHERE ref <> '';
CREATE INDEX plans_over ON plans (updated_at) WHERE next_at = 0;

-- Who has which role.
CREATE TABLE user_roles (
  tenant TEXT NOT NULL,
  role TEXT NOT NULL,
  user_id TEXT NOT NULL,
  PRIMARY KEY (tenant, role, user_id)
);
CREATE INDEX user_roles_user ON user_roles (tenant, user_id);

-- Deliveries that were sent and whose receipts have to be asked for.
CREATE TABLE awaited (
  delivery TEXT NOT NULL,
  tenant TEXT NOT NULL,
  channel TEXT NOT NULL,
  account TEXT NOT NULL DEFAULT '',
  ref TEXT NOT NULL DEFAULT '',
  due_at INTEGER NOT NULL,
  until_at INTEGER NOT NULL,
  asks INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (delivery)
);
CREATE INDEX awaited_due ON awaited (due_at, delivery);

-- Access tokens of providers, sealed, shared by all processes; the holder is refreshing it.
CREATE TABLE tokens (
  name TEXT NOT NULL,
  value TEXT NOT NULL DEFAULT '',
  generation INTEGER NOT NULL DEFAULT 0,
  expires_at INTEGER NOT NULL DEFAULT 0,
  holder TEXT NOT NULL DEFAULT '',
  held_until INTEGER NOT NULL DEFAULT 0,
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (name)
);

-- What callers of the compatibility face have said of a job: its status, or that it is deleted.
CREATE TABLE notify_marks (
  job TEXT NOT NULL,
  tenant TEXT NOT NULL,
  status INTEGER NOT NULL DEFAULT -1,
  deleted INTEGER NOT NULL DEFAULT 0,
  update_by TEXT NOT NULL DEFAULT '',
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (tenant, job)
);
CREATE INDEX notify_marks_age ON notify_marks (updated_at);

-- +goose Down
DROP TABLE notify_marks;
DROP TABLE tokens;
DROP TABLE awaited;
DROP TABLE user_roles;
DROP TABLE plans;
