-- +goose Up
-- What there is once: the epoch, and when this database was made.
CREATE TABLE meta (
  name TEXT NOT NULL,
  value TEXT NOT NULL DEFAULT '',
  PRIMARY KEY (name)
) WITHOUT ROWID;

-- A message never changes after it was accepted.
CREATE TABLE messages (
  id TEXT NOT NULL,
  tenant TEXT NOT NULL,
  channel TEXT NOT NULL,
  kind TEXT NOT NULL DEFAULT '',
  ref TEXT NOT NULL DEFAULT '',
  priority INTEGER NOT NULL DEFAULT 1,
  content TEXT NOT NULL DEFAULT '',
  template TEXT NOT NULL DEFAULT '',
  template_version INTEGER NOT NULL DEFAULT 0,
  payload TEXT NOT NULL DEFAULT '',
  source TEXT NOT NULL DEFAULT '',
  dedup_key TEXT NOT NULL DEFAULT '',
  on_unknown TEXT NOT NULL DEFAULT '',
  not_before INTEGER NOT NULL DEFAULT 0,
  deadline INTEGER NOT NULL DEFAULT 0,
  recipients INTEGER NOT NULL DEFAULT 0,
  trace TEXT NOT NULL DEFAULT '',
  created_at INTEGER NOT NULL,
  PRIMARY KEY (id)
);
CREATE INDEX messages_ref ON messages (tenant, kind, ref, id) WHERE ref <> '';

-- The open deliveries: narrow rows that move fast and leave when they settle.
CREATE TABLE queue (
  id TEXT NOT NULL,
  tenant TEXT NOT NULL,
  channel TEXT NOT NULL,
  account TEXT NOT NULL DEFAULT '',
  priority INTEGER NOT NULL DEFAULT 1,
  user_id TEXT NOT NULL DEFAULT '',
  address TEXT NOT NULL DEFAULT '',
  recipient_type TEXT NOT NULL DEFAULT '',
  state TEXT NOT NULL,
  reason TEXT NOT NULL DEFAULT '',
  last_error TEXT NOT NULL DEFAULT '',
  version INTEGER NOT NULL DEFAULT 1,
  token INTEGER NOT NULL DEFAULT 0,
  attempts INTEGER NOT NULL DEFAULT 0,
  tries INTEGER NOT NULL DEFAULT 0,
  claim_losses INTEGER NOT NULL DEFAULT 0,
  idem_key TEXT NOT NULL DEFAULT '',
  on_unknown TEXT NOT NULL,
  provider_ref TEXT NOT NULL DEFAULT '',
  unconfirmed INTEGER NOT NULL DEFAULT 0,
  cancel_requested INTEGER NOT NULL DEFAULT 0,
  replay_of TEXT NOT NULL DEFAULT '',
  epoch INTEGER NOT NULL DEFAULT 0,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  due_at INTEGER NOT NULL DEFAULT 0,
  not_before INTEGER NOT NULL DEFAULT 0,
  deadline INTEGER NOT NULL DEFAULT 0,
  started_at INTEGER NOT NULL DEFAULT 0,
  first_start_at INTEGER NOT NULL DEFAULT 0,
  lease_until INTEGER NOT NULL DEFAULT 0,
  lease_owner TEXT NOT NULL DEFAULT '',
  PRIMARY KEY (id)
);
CREATE INDEX queue_due ON queue (tenant, channel, priority, due_at, id) WHERE state = 'pending';
CREATE INDEX queue_lease ON queue (lease_until) WHERE state = 'sending';
CREATE INDEX queue_unknown ON queue (due_at) WHERE state = 'unknown' AND due_at > 0;
CREATE INDEX queue_deadline ON queue (deadline) WHERE deadline > 0;
CREATE INDEX queue_user ON queue (tenant, user_id, id) WHERE user_id <> '';

-- The settled deliveries, in the columns of the queue.
CREATE TABLE settled (
  id TEXT NOT NULL,
  tenant TEXT NOT NULL,
  channel TEXT NOT NULL,
  account TEXT NOT NULL DEFAULT '',
  priority INTEGER NOT NULL DEFAULT 1,
  user_id TEXT NOT NULL DEFAULT '',
  address TEXT NOT NULL DEFAULT '',
  recipient_type TEXT NOT NULL DEFAULT '',
  state TEXT NOT NULL,
  reason TEXT NOT NULL DEFAULT '',
  last_error TEXT NOT NULL DEFAULT '',
  version INTEGER NOT NULL DEFAULT 1,
  token INTEGER NOT NULL DEFAULT 0,
  attempts INTEGER NOT NULL DEFAULT 0,
  tries INTEGER NOT NULL DEFAULT 0,
  claim_losses INTEGER NOT NULL DEFAULT 0,
  idem_key TEXT NOT NULL DEFAULT '',
  on_unknown TEXT NOT NULL,
  provider_ref TEXT NOT NULL DEFAULT '',
  unconfirmed INTEGER NOT NULL DEFAULT 0,
  cancel_requested INTEGER NOT NULL DEFAULT 0,
  replay_of TEXT NOT NULL DEFAULT '',
  epoch INTEGER NOT NULL DEFAULT 0,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  due_at INTEGER NOT NULL DEFAULT 0,
  not_before INTEGER NOT NULL DEFAULT 0,
  deadline INTEGER NOT NULL DEFAULT 0,
  started_at INTEGER NOT NULL DEFAULT 0,
  first_start_at INTEGER NOT NULL DEFAULT 0,
  lease_until INTEGER NOT NULL DEFAULT 0,
  lease_owner TEXT NOT NULL DEFAULT '',
  PRIMARY KEY (id)
);
CREATE INDEX settled_user ON settled (tenant, user_id, id) WHERE user_id <> '';
CREATE INDEX settled_trouble ON settled (tenant, state, id) WHERE state IN ('failed', 'undelivered', 'expired', 'suppressed', 'cancelled');

-- The event log: one row for each transition, in the transaction that made it.
CREATE TABLE events (
  delivery TEXT NOT NULL,
  version INTEGER NOT NULL,
  tenant TEXT NOT NULL,
  at INTEGER NOT NULL,
  type TEXT NOT NULL,
  from_state TEXT NOT NULL DEFAULT '',
  to_state TEXT NOT NULL,
  token INTEGER NOT NULL DEFAULT 0,
  attempt INTEGER NOT NULL DEFAULT 0,
  owner TEXT NOT NULL DEFAULT '',
  lease_until INTEGER NOT NULL DEFAULT 0,
  due_at INTEGER NOT NULL DEFAULT 0,
  reason TEXT NOT NULL DEFAULT '',
  epoch INTEGER NOT NULL DEFAULT 0,
  account TEXT NOT NULL DEFAULT '',
  tries INTEGER NOT NULL DEFAULT 0,
  class TEXT NOT NULL DEFAULT '',
  code TEXT NOT NULL DEFAULT '',
  error TEXT NOT NULL DEFAULT '',
  ref TEXT NOT NULL DEFAULT '',
  request TEXT NOT NULL DEFAULT '',
  response TEXT NOT NULL DEFAULT '',
  PRIMARY KEY (delivery, version)
) WITHOUT ROWID;

-- What a caller's Idempotency-Key stands for.
CREATE TABLE idempotency (
  tenant TEXT NOT NULL,
  endpoint TEXT NOT NULL,
  idem_key TEXT NOT NULL,
  body_hash TEXT NOT NULL,
  owner TEXT NOT NULL,
  answer TEXT NOT NULL DEFAULT '',
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  PRIMARY KEY (tenant, endpoint, idem_key)
) WITHOUT ROWID;
CREATE INDEX idempotency_expiry ON idempotency (expires_at);

-- Which message a dedup_key stands for, until its window closes.
CREATE TABLE dedup (
  tenant TEXT NOT NULL,
  channel TEXT NOT NULL,
  dedup_key TEXT NOT NULL,
  message_id TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  PRIMARY KEY (tenant, channel, dedup_key)
) WITHOUT ROWID;
CREATE INDEX dedup_expiry ON dedup (expires_at);

-- Messages that callers hand in within their own transactions; the relay moves them on.
-- A plain INSERT needs the draft alone.
CREATE TABLE outbox (
  id TEXT NOT NULL DEFAULT (lower(hex(randomblob(16)))),
  tenant TEXT NOT NULL DEFAULT 'default',
  draft TEXT NOT NULL,
  created_at INTEGER NOT NULL DEFAULT (CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER)),
  error TEXT NOT NULL DEFAULT '',
  failed_at INTEGER NOT NULL DEFAULT 0,
  failures INTEGER NOT NULL DEFAULT 0,
  due_at INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (id)
);
CREATE INDEX outbox_due ON outbox (due_at, created_at, id);

-- The configured channels; secrets in config are sealed.
CREATE TABLE channels (
  tenant TEXT NOT NULL,
  name TEXT NOT NULL,
  driver TEXT NOT NULL,
  config TEXT NOT NULL DEFAULT '',
  settings TEXT NOT NULL DEFAULT '',
  paused INTEGER NOT NULL DEFAULT 0,
  pause_reason TEXT NOT NULL DEFAULT '',
  version INTEGER NOT NULL DEFAULT 1,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (tenant, name)
);

-- Accounts that a provider refused: parked until a time, then probed.
CREATE TABLE gates (
  tenant TEXT NOT NULL,
  channel TEXT NOT NULL,
  account TEXT NOT NULL,
  until_at INTEGER NOT NULL DEFAULT 0,
  class TEXT NOT NULL,
  code TEXT NOT NULL DEFAULT '',
  error TEXT NOT NULL DEFAULT '',
  refusals INTEGER NOT NULL DEFAULT 0,
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (tenant, channel, account)
);

-- Every version of every template.
CREATE TABLE templates (
  tenant TEXT NOT NULL,
  name TEXT NOT NULL,
  version INTEGER NOT NULL,
  title TEXT NOT NULL DEFAULT '',
  body TEXT NOT NULL DEFAULT '',
  lenient INTEGER NOT NULL DEFAULT 0,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (tenant, name, version)
);

-- Who is on duty: the roster itself.
CREATE TABLE rosters (
  tenant TEXT NOT NULL,
  name TEXT NOT NULL,
  hand_over TEXT NOT NULL DEFAULT '',
  time_zone TEXT NOT NULL DEFAULT '',
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (tenant, name)
);

-- Days a roster knows; an override with nobody on duty is a day without entries.
CREATE TABLE roster_days (
  tenant TEXT NOT NULL,
  roster TEXT NOT NULL,
  day TEXT NOT NULL,
  PRIMARY KEY (tenant, roster, day)
);

-- Who is on duty on a day: 1 to 7 (Monday = 1), or a date.
CREATE TABLE roster_entries (
  tenant TEXT NOT NULL,
  roster TEXT NOT NULL,
  day TEXT NOT NULL,
  user_id TEXT NOT NULL,
  position INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (tenant, roster, day, user_id)
) WITHOUT ROWID;

-- The directory.
CREATE TABLE users (
  tenant TEXT NOT NULL,
  id TEXT NOT NULL,
  name TEXT NOT NULL DEFAULT '',
  type TEXT NOT NULL DEFAULT '',
  addresses TEXT NOT NULL DEFAULT '',
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (tenant, id)
);

-- Keys of the API; only a hash of the secret is kept.
CREATE TABLE api_keys (
  id TEXT NOT NULL,
  tenant TEXT NOT NULL,
  name TEXT NOT NULL,
  scope TEXT NOT NULL,
  hash TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  revoked_at INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (id)
);

-- Shared limits: the state of all windows of one key.
CREATE TABLE limits (
  name TEXT NOT NULL,
  state TEXT NOT NULL DEFAULT '',
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (name)
) WITHOUT ROWID;

INSERT INTO meta (name, value) VALUES ('epoch', '1');

-- Every delivery, open or settled, for readers of the database.
CREATE VIEW deliveries AS
SELECT id, tenant, channel, account, priority, user_id, address, recipient_type, state, reason, last_error, version, token, attempts, tries, claim_losses, idem_key, on_unknown, provider_ref, unconfirmed, cancel_requested, replay_of, epoch, created_at, updated_at, due_at, not_before, deadline, started_at, first_start_at, lease_until, lease_owner FROM queue
UNION ALL
SELECT id, tenant, channel, account, priority, user_id, address, recipient_type, state, reason, last_error, version, token, attempts, tries, claim_losses, idem_key, on_unknown, provider_ref, unconfirmed, cancel_requested, replay_of, epoch, created_at, updated_at, due_at, not_before, deadline, started_at, first_start_at, lease_until, lease_owner FROM settled;

-- The bank's two tables under their own names, for readers of the database.
CREATE VIEW message_send_log AS
SELECT d.id AS id, d.user_id AS user_id, d.channel AS platform, json_extract(m.content, '$.text') AS content,
  CASE WHEN d.state = 'pending' AND d.tries > 0 THEN 'failure'
       WHEN d.state IN ('pending', 'sending') THEN 'pending'
       WHEN d.state = 'unknown' THEN 'failure'
       WHEN d.state IN ('sent', 'delivered') THEN 'success'
       WHEN d.state = 'failed' THEN 'stopped'
       ELSE d.state END AS status,
  d.tries AS retry_count, strftime('%Y-%m-%d %H:%M:%f', d.created_at / 1000000.0, 'unixepoch') AS create_time, strftime('%Y-%m-%d %H:%M:%f', d.updated_at / 1000000.0, 'unixepoch') AS update_time,
  d.last_error AS last_error, d.tenant AS tenant
FROM deliveries d JOIN messages m ON m.id = substr(d.id, 1, 22) || '0000'
WHERE m.kind = 'notice' AND d.state <> 'suppressed';

CREATE VIEW duty_schedule AS
SELECT roster || ':' || day || ':' || user_id AS id, CAST(day AS INTEGER) AS day_of_week, user_id, tenant
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
