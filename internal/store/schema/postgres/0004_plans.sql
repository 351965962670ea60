-- +goose Up
-- What is to be done at a time, and what is known so far: reminders, and the tasks of workflows. next_at 0 is never.
CREATE TABLE plans (
  tenant text COLLATE "C" NOT NULL,
  type text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL DEFAULT '',
  ref text COLLATE "C" NOT NULL DEFAULT '',
  doc text NOT NULL DEFAULT '',
  version bigint NOT NULL DEFAULT 1,
  next_at bigint NOT NULL DEFAULT 0,
  failures integer NOT NULL DEFAULT 0,
  error text NOT NULL DEFAULT '',
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  PRIMARY KEY (tenant, type, id)
);
CREATE INDEX plans_due ON plans (next_at, id) WHERE next_at > 0;
CREATE INDEX plans_ref ON plans (tenant, type, kind, ref, id) WHERE ref <> '';
CREATE INDEX plans_over ON plans (updated_at) WHERE next_at = 0;

-- Who has which role.
CREATE TABLE user_roles (
  tenant text COLLATE "C" NOT NULL,
  role text COLLATE "C" NOT NULL,
  user_id text COLLATE "C" NOT NULL,
  PRIMARY KEY (tenant, role, user_id)
);
CREATE INDEX user_roles_user ON user_roles (tenant, user_id);

-- Deliveries that were sent and whose receipts have to be asked for.
CREATE TABLE awaited (
  delivery text COLLATE "C" NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  channel text COLLATE "C" NOT NULL,
  account text COLLATE "C" NOT NULL DEFAULT '',
  ref text COLLATE "C" NOT NULL DEFAULT '',
  due_at bigint NOT NULL,
  until_at bigint NOT NULL,
  asks integer NOT NULL DEFAULT 0,
  PRIMARY KEY (delivery)
);
CREATE INDEX awaited_due ON awaited (due_at, delivery);

-- Access tokens of providers, sealed, shared by all processes; the holder is refreshing it.
CREATE TABLE tokens (
  name text COLLATE "C" NOT NULL,
  value text NOT NULL DEFAULT '',
  generation bigint NOT NULL DEFAULT 0,
  expires_at bigint NOT NULL DEFAULT 0,
  holder text COLLATE "C" NOT NULL DEFAULT '',
  held_until bigint NOT NULL DEFAULT 0,
  updated_at bigint NOT NULL,
  PRIMARY KEY (name)
);

-- What callers of the compatibility face have said of a job: its status, or that it is deleted.
CREATE TABLE notify_marks (
  job text COLLATE "C" NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  status smallint NOT NULL DEFAULT -1,
  deleted smallint NOT NULL DEFAULT 0,
  update_by text COLLATE "C" NOT NULL DEFAULT '',
  updated_at bigint NOT NULL,
  PRIMARY KEY (tenant, job)
);
CREATE INDEX notify_marks_age ON notify_marks (updated_at);

-- +goose Down
DROP TABLE notify_marks;
DROP TABLE tokens;
DROP TABLE awaited;
DROP TABLE user_roles;
DROP TABLE plans;
