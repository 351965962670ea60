-- +goose Up
-- Text is compared by its bytes, but MySQL takes no notice of spaces at the end of a varchar.
-- Where a caller's text is a key, its column is varbinary.
--
-- Each statement commits by itself here. A process that is killed halfway leaves what it has made, and
-- the next one begins anew: so each statement may find its work done.

-- What there is once: the epoch, and when this database was made.
CREATE TABLE IF NOT EXISTS meta (
  name varchar(128) NOT NULL,
  value mediumtext NOT NULL DEFAULT (''),
  PRIMARY KEY (name)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- A message never changes after it was accepted.
CREATE TABLE IF NOT EXISTS messages (
  id varchar(26) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  tenant varchar(128) NOT NULL,
  channel varchar(128) NOT NULL,
  kind varchar(128) NOT NULL DEFAULT '',
  ref varbinary(1020) NOT NULL DEFAULT '',
  priority smallint NOT NULL DEFAULT 1,
  content mediumtext NOT NULL DEFAULT (''),
  template varchar(128) NOT NULL DEFAULT '',
  template_version int NOT NULL DEFAULT 0,
  payload mediumtext NOT NULL DEFAULT (''),
  source varchar(128) NOT NULL DEFAULT '',
  dedup_key varchar(255) NOT NULL DEFAULT '',
  on_unknown varchar(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
  not_before bigint NOT NULL DEFAULT 0,
  deadline bigint NOT NULL DEFAULT 0,
  recipients int NOT NULL DEFAULT 0,
  trace varchar(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
  created_at bigint NOT NULL,
  PRIMARY KEY (id),
  KEY messages_ref (tenant, kind, ref, id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- The open deliveries: narrow rows that move fast and leave when they settle.
CREATE TABLE IF NOT EXISTS queue (
  id varchar(26) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  tenant varchar(128) NOT NULL,
  channel varchar(128) NOT NULL,
  account varchar(128) NOT NULL DEFAULT '',
  priority smallint NOT NULL DEFAULT 1,
  user_id varchar(255) NOT NULL DEFAULT '',
  address varchar(512) NOT NULL DEFAULT '',
  recipient_type varchar(128) NOT NULL DEFAULT '',
  state varchar(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  reason varchar(255) NOT NULL DEFAULT '',
  last_error mediumtext NOT NULL DEFAULT (''),
  version bigint NOT NULL DEFAULT 1,
  token bigint NOT NULL DEFAULT 0,
  attempts int NOT NULL DEFAULT 0,
  tries int NOT NULL DEFAULT 0,
  claim_losses int NOT NULL DEFAULT 0,
  idem_key varchar(26) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
  on_unknown varchar(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  provider_ref varchar(512) NOT NULL DEFAULT '',
  unconfirmed smallint NOT NULL DEFAULT 0,
  cancel_requested smallint NOT NULL DEFAULT 0,
  replay_of varchar(26) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
  epoch bigint NOT NULL DEFAULT 0,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  due_at bigint NOT NULL DEFAULT 0,
  not_before bigint NOT NULL DEFAULT 0,
  deadline bigint NOT NULL DEFAULT 0,
  started_at bigint NOT NULL DEFAULT 0,
  first_start_at bigint NOT NULL DEFAULT 0,
  lease_until bigint NOT NULL DEFAULT 0,
  lease_owner varchar(128) NOT NULL DEFAULT '',
  PRIMARY KEY (id),
  KEY queue_due (tenant, channel, priority, state, due_at, id),
  KEY queue_lease (state, lease_until),
  KEY queue_unknown (state, due_at),
  KEY queue_deadline (deadline),
  KEY queue_user (tenant, user_id, id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- The settled deliveries, in the columns of the queue.
CREATE TABLE IF NOT EXISTS settled (
  id varchar(26) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  tenant varchar(128) NOT NULL,
  channel varchar(128) NOT NULL,
  account varchar(128) NOT NULL DEFAULT '',
  priority smallint NOT NULL DEFAULT 1,
  user_id varchar(255) NOT NULL DEFAULT '',
  address varchar(512) NOT NULL DEFAULT '',
  recipient_type varchar(128) NOT NULL DEFAULT '',
  state varchar(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  reason varchar(255) NOT NULL DEFAULT '',
  last_error mediumtext NOT NULL DEFAULT (''),
  version bigint NOT NULL DEFAULT 1,
  token bigint NOT NULL DEFAULT 0,
  attempts int NOT NULL DEFAULT 0,
  tries int NOT NULL DEFAULT 0,
  claim_losses int NOT NULL DEFAULT 0,
  idem_key varchar(26) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
  on_unknown varchar(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  provider_ref varchar(512) NOT NULL DEFAULT '',
  unconfirmed smallint NOT NULL DEFAULT 0,
  cancel_requested smallint NOT NULL DEFAULT 0,
  replay_of varchar(26) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
  epoch bigint NOT NULL DEFAULT 0,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  due_at bigint NOT NULL DEFAULT 0,
  not_before bigint NOT NULL DEFAULT 0,
  deadline bigint NOT NULL DEFAULT 0,
  started_at bigint NOT NULL DEFAULT 0,
  first_start_at bigint NOT NULL DEFAULT 0,
  lease_until bigint NOT NULL DEFAULT 0,
  lease_owner varchar(128) NOT NULL DEFAULT '',
  PRIMARY KEY (id),
  KEY settled_user (tenant, user_id, id),
  KEY settled_trouble (tenant, state, id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- The event log: one row for each transition, in the transaction that made it.
CREATE TABLE IF NOT EXISTS events (
  delivery varchar(26) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  version bigint NOT NULL,
  tenant varchar(128) NOT NULL,
  at bigint NOT NULL,
  type varchar(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  from_state varchar(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
  to_state varchar(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  token bigint NOT NULL DEFAULT 0,
  attempt int NOT NULL DEFAULT 0,
  owner varchar(128) NOT NULL DEFAULT '',
  lease_until bigint NOT NULL DEFAULT 0,
  due_at bigint NOT NULL DEFAULT 0,
  reason varchar(255) NOT NULL DEFAULT '',
  epoch bigint NOT NULL DEFAULT 0,
  account varchar(128) NOT NULL DEFAULT '',
  tries int NOT NULL DEFAULT 0,
  class varchar(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
  code varchar(255) NOT NULL DEFAULT '',
  error mediumtext NOT NULL DEFAULT (''),
  ref varchar(512) NOT NULL DEFAULT '',
  request mediumtext NOT NULL DEFAULT (''),
  response mediumtext NOT NULL DEFAULT (''),
  PRIMARY KEY (delivery, version)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- What a caller's Idempotency-Key stands for.
CREATE TABLE IF NOT EXISTS idempotency (
  tenant varchar(128) NOT NULL,
  endpoint varchar(128) NOT NULL,
  idem_key varbinary(1020) NOT NULL,
  body_hash varchar(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  owner varchar(26) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  answer mediumtext NOT NULL DEFAULT (''),
  created_at bigint NOT NULL,
  expires_at bigint NOT NULL,
  PRIMARY KEY (tenant, endpoint, idem_key),
  KEY idempotency_expiry (expires_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- Which message a dedup_key stands for, until its window closes.
CREATE TABLE IF NOT EXISTS dedup (
  tenant varchar(128) NOT NULL,
  channel varchar(128) NOT NULL,
  dedup_key varbinary(1020) NOT NULL,
  message_id varchar(26) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  created_at bigint NOT NULL,
  expires_at bigint NOT NULL,
  PRIMARY KEY (tenant, channel, dedup_key),
  KEY dedup_expiry (expires_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- Messages that callers hand in within their own transactions; the relay moves them on.
-- A plain INSERT needs the draft alone.
CREATE TABLE IF NOT EXISTS outbox (
  id varchar(64) NOT NULL DEFAULT (UUID()),
  tenant varchar(128) NOT NULL DEFAULT 'default',
  draft mediumtext NOT NULL,
  created_at bigint NOT NULL DEFAULT (TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))),
  error mediumtext NOT NULL DEFAULT (''),
  failed_at bigint NOT NULL DEFAULT 0,
  failures int NOT NULL DEFAULT 0,
  due_at bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (id),
  KEY outbox_due (due_at, created_at, id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- The configured channels; secrets in config are sealed.
CREATE TABLE IF NOT EXISTS channels (
  tenant varchar(128) NOT NULL,
  name varchar(128) NOT NULL,
  driver varchar(128) NOT NULL,
  config mediumtext NOT NULL DEFAULT (''),
  settings mediumtext NOT NULL DEFAULT (''),
  paused smallint NOT NULL DEFAULT 0,
  pause_reason varchar(255) NOT NULL DEFAULT '',
  version bigint NOT NULL DEFAULT 1,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  PRIMARY KEY (tenant, name)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- Accounts that a provider refused: parked until a time, then probed.
CREATE TABLE IF NOT EXISTS gates (
  tenant varchar(128) NOT NULL,
  channel varchar(128) NOT NULL,
  account varchar(128) NOT NULL,
  until_at bigint NOT NULL DEFAULT 0,
  class varchar(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  code varchar(255) NOT NULL DEFAULT '',
  error mediumtext NOT NULL DEFAULT (''),
  refusals int NOT NULL DEFAULT 0,
  updated_at bigint NOT NULL,
  PRIMARY KEY (tenant, channel, account)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- Every version of every template.
CREATE TABLE IF NOT EXISTS templates (
  tenant varchar(128) NOT NULL,
  name varchar(128) NOT NULL,
  version int NOT NULL,
  title mediumtext NOT NULL DEFAULT (''),
  body mediumtext NOT NULL DEFAULT (''),
  lenient smallint NOT NULL DEFAULT 0,
  created_at bigint NOT NULL,
  PRIMARY KEY (tenant, name, version)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- Who is on duty: the roster itself.
CREATE TABLE IF NOT EXISTS rosters (
  tenant varchar(128) NOT NULL,
  name varchar(128) NOT NULL,
  hand_over varchar(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
  time_zone varchar(128) NOT NULL DEFAULT '',
  updated_at bigint NOT NULL,
  PRIMARY KEY (tenant, name)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- Days a roster knows; an override with nobody on duty is a day without entries.
CREATE TABLE IF NOT EXISTS roster_days (
  tenant varchar(128) NOT NULL,
  roster varchar(128) NOT NULL,
  day varchar(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  PRIMARY KEY (tenant, roster, day)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- Who is on duty on a day: 1 to 7 (Monday = 1), or a date.
CREATE TABLE IF NOT EXISTS roster_entries (
  tenant varchar(128) NOT NULL,
  roster varchar(128) NOT NULL,
  day varchar(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  user_id varchar(255) NOT NULL,
  position int NOT NULL DEFAULT 0,
  PRIMARY KEY (tenant, roster, day, user_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- The directory.
CREATE TABLE IF NOT EXISTS users (
  tenant varchar(128) NOT NULL,
  id varchar(255) NOT NULL,
  name varchar(512) NOT NULL DEFAULT '',
  type varchar(128) NOT NULL DEFAULT '',
  addresses mediumtext NOT NULL DEFAULT (''),
  updated_at bigint NOT NULL,
  PRIMARY KEY (tenant, id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- Keys of the API; only a hash of the secret is kept.
CREATE TABLE IF NOT EXISTS api_keys (
  id varchar(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  tenant varchar(128) NOT NULL,
  name varchar(255) NOT NULL,
  scope varchar(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  hash varchar(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  created_at bigint NOT NULL,
  revoked_at bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- Shared limits: the state of all windows of one key.
CREATE TABLE IF NOT EXISTS limits (
  name varchar(512) NOT NULL,
  state mediumtext NOT NULL DEFAULT (''),
  updated_at bigint NOT NULL,
  PRIMARY KEY (name)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

INSERT IGNORE INTO meta (name, value) VALUES ('epoch', '1');

-- Every delivery, open or settled, for readers of the database.
CREATE OR REPLACE VIEW deliveries AS
SELECT id, tenant, channel, account, priority, user_id, address, recipient_type, state, reason, last_error, version, token, attempts, tries, claim_losses, idem_key, on_unknown, provider_ref, unconfirmed, cancel_requested, replay_of, epoch, created_at, updated_at, due_at, not_before, deadline, started_at, first_start_at, lease_until, lease_owner FROM queue
UNION ALL
SELECT id, tenant, channel, account, priority, user_id, address, recipient_type, state, reason, last_error, version, token, attempts, tries, claim_losses, idem_key, on_unknown, provider_ref, unconfirmed, cancel_requested, replay_of, epoch, created_at, updated_at, due_at, not_before, deadline, started_at, first_start_at, lease_until, lease_owner FROM settled;

-- The bank's two tables under their own names, for readers of the database.
CREATE OR REPLACE VIEW message_send_log AS
SELECT d.id AS id, d.user_id AS user_id, d.channel AS platform, JSON_UNQUOTE(JSON_EXTRACT(m.content, '$.text')) AS content,
  CASE WHEN d.state = 'pending' AND d.tries > 0 THEN 'failure'
       WHEN d.state IN ('pending', 'sending') THEN 'pending'
       WHEN d.state = 'unknown' THEN 'failure'
       WHEN d.state IN ('sent', 'delivered') THEN 'success'
       WHEN d.state = 'failed' THEN 'stopped'
       ELSE d.state END AS status,
  d.tries AS retry_count, TIMESTAMPADD(MICROSECOND, d.created_at, TIMESTAMP '1970-01-01 00:00:00') AS create_time, TIMESTAMPADD(MICROSECOND, d.updated_at, TIMESTAMP '1970-01-01 00:00:00') AS update_time,
  d.last_error AS last_error, d.tenant AS tenant
FROM deliveries d JOIN messages m ON m.id = CONCAT(SUBSTR(d.id, 1, 22), '0000')
WHERE m.kind = 'notice' AND d.state <> 'suppressed';

CREATE OR REPLACE VIEW duty_schedule AS
SELECT CONCAT(roster, ':', day, ':', user_id) AS id, CAST(day AS SIGNED) AS day_of_week, user_id, tenant
FROM roster_entries WHERE roster = 'duty' AND day IN ('1', '2', '3', '4', '5', '6', '7');

-- +goose Down
DROP VIEW duty_schedule;
DROP VIEW message_send_log;
DROP VIEW deliveries;
DROP TABLE limits;
DROP TABLE api_keys;
DROP TABLE users;
DROP TABLE roster_entries;
DROP TABLE roster_days;
DROP TABLE rosters;
DROP TABLE templates;
DROP TABLE gates;
DROP TABLE channels;
DROP TABLE outbox;
DROP TABLE dedup;
DROP TABLE idempotency;
DROP TABLE events;
DROP TABLE settled;
DROP TABLE queue;
DROP TABLE messages;
DROP TABLE meta;
