-- +goose Up
-- What is to be done at a time, and what is known so far: reminders, and the tasks of workflows. next_at 0 is never.
CREATE TABLE IF NOT EXISTS plans (
  tenant varchar(128) NOT NULL,
  type varchar(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  id varbinary(1020) NOT NULL,
  kind varchar(128) NOT NULL DEFAULT '',
  ref varbinary(1020) NOT NULL DEFAULT '',
  doc mediumtext NOT NULL DEFAULT (''),
  version bigint NOT NULL DEFAULT 1,
  next_at bigint NOT NULL DEFAULT 0,
  failures int NOT NULL DEFAULT 0,
  error mediumtext NOT NULL DEFAULT (''),
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  PRIMARY KEY (tenant, type, id),
  KEY plans_due (next_at, id),
  KEY plans_ref (tenant, type, kind, ref),
  KEY plans_over (next_at, updated_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- Who has which role.
CREATE TABLE IF NOT EXISTS user_roles (
  tenant varchar(128) NOT NULL,
  role varbinary(1020) NOT NULL,
  user_id varbinary(1020) NOT NULL,
  PRIMARY KEY (tenant, role, user_id),
  KEY user_roles_user (tenant, user_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- Deliveries that were sent and whose receipts have to be asked for.
CREATE TABLE IF NOT EXISTS awaited (
  delivery varchar(26) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  tenant varchar(128) NOT NULL,
  channel varchar(128) NOT NULL,
  account varchar(255) NOT NULL DEFAULT '',
  ref varchar(512) NOT NULL DEFAULT '',
  due_at bigint NOT NULL,
  until_at bigint NOT NULL,
  asks int NOT NULL DEFAULT 0,
  PRIMARY KEY (delivery),
  KEY awaited_due (due_at, delivery)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- Access tokens of providers, sealed, shared by all processes; the holder is refreshing it.
CREATE TABLE IF NOT EXISTS tokens (
  name varchar(255) NOT NULL,
  value mediumtext NOT NULL DEFAULT (''),
  generation bigint NOT NULL DEFAULT 0,
  expires_at bigint NOT NULL DEFAULT 0,
  holder varchar(255) NOT NULL DEFAULT '',
  held_until bigint NOT NULL DEFAULT 0,
  updated_at bigint NOT NULL,
  PRIMARY KEY (name)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- What callers of the compatibility face have said of a job: its status, or that it is deleted.
CREATE TABLE IF NOT EXISTS notify_marks (
  job varbinary(1020) NOT NULL,
  tenant varchar(128) NOT NULL,
  status smallint NOT NULL DEFAULT -1,
  deleted smallint NOT NULL DEFAULT 0,
  update_by varchar(255) NOT NULL DEFAULT '',
  updated_at bigint NOT NULL,
  PRIMARY KEY (tenant, job),
  KEY notify_marks_age (updated_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- +goose Down
DROP TABLE notify_marks;
DROP TABLE tokens;
DROP TABLE awaited;
DROP TABLE user_roles;
DROP TABLE plans;
