-- +goose Up
-- What there is once: the epoch, and when this database was made.
CREATE TABLE meta (
  name text COLLATE "C" NOT NULL,
  value text NOT NULL DEFAULT '',
  PRIMARY KEY (name)
);

-- A message never changes after it was accepted.
CREATE TABLE messages (
  id text COLLATE "C" NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  channel text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL DEFAULT '',
  ref text COLLATE "C" NOT NULL DEFAULT '',
  priority smallint NOT NULL DEFAULT 1,
  content text NOT NULL DEFAULT '',
  template text COLLATE "C" NOT NULL DEFAULT '',
  template_version integer NOT NULL DEFAULT 0,
  payload text NOT NULL DEFAULT '',
  source text COLLATE "C" NOT NULL DEFAULT '',
  dedup_key text COLLATE "C" NOT NULL DEFAULT '',
  on_unknown text COLLATE "C" NOT NULL DEFAULT '',
  not_before bigint NOT NULL DEFAULT 0,
  deadline bigint NOT NULL DEFAULT 0,
  recipients integer NOT NULL DEFAULT 0,
  trace text COLLATE "C" NOT NULL DEFAULT '',
  created_at bigint NOT NULL,
  PRIMARY KEY (id)
);
CREATE INDEX messages_ref ON messages (tenant, kind, ref, id) WHERE ref <> '';

-- The open deliveries: narrow rows that move fast and leave when they settle.
CREATE TABLE queue (
  id text COLLATE "C" NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  channel text COLLATE "C" NOT NULL,
  account text COLLATE "C" NOT NULL DEFAULT '',
  priority smallint NOT NULL DEFAULT 1,
  user_id text COLLATE "C" NOT NULL DEFAULT '',
  address text COLLATE "C" NOT NULL DEFAULT '',
  recipient_type text COLLATE "C" NOT NULL DEFAULT '',
  state text COLLATE "C" NOT NULL,
  reason text COLLATE "C" NOT NULL DEFAULT '',
  last_error text NOT NULL DEFAULT '',
  version bigint NOT NULL DEFAULT 1,
  token bigint NOT NULL DEFAULT 0,
  attempts integer NOT NULL DEFAULT 0,
  tries integer NOT NULL DEFAULT 0,
  claim_losses integer NOT NULL DEFAULT 0,
  idem_key text COLLATE "C" NOT NULL DEFAULT '',
  on_unknown text COLLATE "C" NOT NULL,
  provider_ref text COLLATE "C" NOT NULL DEFAULT '',
  unconfirmed smallint NOT NULL DEFAULT 0,
  cancel_requested smallint NOT NULL DEFAULT 0,
  replay_of text COLLATE "C" NOT NULL DEFAULT '',
  epoch bigint NOT NULL DEFAULT 0,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  due_at bigint NOT NULL DEFAULT 0,
  not_before bigint NOT NULL DEFAULT 0,
  deadline bigint NOT NULL DEFAULT 0,
  started_at bigint NOT NULL DEFAULT 0,
  first_start_at bigint NOT NULL DEFAULT 0,
  lease_until bigint NOT NULL DEFAULT 0,
  lease_owner text COLLATE "C" NOT NULL DEFAULT '',
  PRIMARY KEY (id)
);
CREATE INDEX queue_due ON queue (tenant, channel, priority, due_at, id) WHERE state = 'pending';
CREATE INDEX queue_lease ON queue (lease_until) WHERE state = 'sending';
CREATE INDEX queue_unknown ON queue (due_at) WHERE state = 'unknown' AND due_at > 0;
CREATE INDEX queue_deadline ON queue (deadline) WHERE deadline > 0;
CREATE INDEX queue_user ON queue (tenant, user_id, id) WHERE user_id <> '';

-- The settled deliveries, in the columns of the queue.
CREATE TABLE settled (
  id text COLLATE "C" NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  channel text COLLATE "C" NOT NULL,
  account text COLLATE "C" NOT NULL DEFAULT '',
  priority smallint NOT NULL DEFAULT 1,
  user_id text COLLATE "C" NOT NULL DEFAULT '',
  address text COLLATE "C" NOT NULL DEFAULT '',
  recipient_type text COLLATE "C" NOT NULL DEFAULT '',
  state text COLLATE "C" NOT NULL,
  reason text COLLATE "C" NOT NULL DEFAULT '',
  last_error text NOT NULL DEFAULT '',
  version bigint NOT NULL DEFAULT 1,
  token bigint NOT NULL DEFAULT 0,
  attempts integer NOT NULL DEFAULT 0,
  tries integer NOT NULL DEFAULT 0,
  claim_losses integer NOT NULL DEFAULT 0,
  idem_key text COLLATE "C" NOT NULL DEFAULT '',
  on_unknown text COLLATE "C" NOT NULL,
  provider_ref text COLLATE "C" NOT NULL DEFAULT '',
  unconfirmed smallint NOT NULL DEFAULT 0,
  cancel_requested smallint NOT NULL DEFAULT 0,
  replay_of text COLLATE "C" NOT NULL DEFAULT '',
  epoch bigint NOT NULL DEFAULT 0,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  due_at bigint NOT NULL DEFAULT 0,
  not_before bigint NOT NULL DEFAULT 0,
  deadline bigint NOT NULL DEFAULT 0,
  started_at bigint NOT NULL DEFAULT 0,
  first_start_at bigint NOT NULL DEFAULT 0,
  lease_until bigint NOT NULL DEFAULT 0,
  lease_owner text COLLATE "C" NOT NULL DEFAULT '',
  PRIMARY KEY (id)
);
CREATE INDEX settled_user ON settled (tenant, user_id, id) WHERE user_id <> '';
CREATE INDEX settled_trouble ON settled (tenant, state, id) WHERE state IN ('failed', 'undelivered', 'expired', 'suppressed', 'cancelled');

-- The event log: one row for each transition, in the transaction that made it.
CREATE TABLE events (
  delivery text COLLATE "C" NOT NULL,
  version bigint NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  at bigint NOT NULL,
  type text COLLATE "C" NOT NULL,
  from_state text COLLATE "C" NOT NULL DEFAULT '',
  to_state text COLLATE "C" NOT NULL,
  token bigint NOT NULL DEFAULT 0,
  attempt integer NOT NULL DEFAULT 0,
  owner text COLLATE "C" NOT NULL DEFAULT '',
  lease_until bigint NOT NULL DEFAULT 0,
  due_at bigint NOT NULL DEFAULT 0,
  reason text COLLATE "C" NOT NULL DEFAULT '',
  epoch bigint NOT NULL DEFAULT 0,
  account text COLLATE "C" NOT NULL DEFAULT '',
  tries integer NOT NULL DEFAULT 0,
  class text COLLATE "C" NOT NULL DEFAULT '',
  code text COLLATE "C" NOT NULL DEFAULT '',
  error text NOT NULL DEFAULT '',
  ref text COLLATE "C" NOT NULL DEFAULT '',
  request text NOT NULL DEFAULT '',
  response text NOT NULL DEFAULT '',
  PRIMARY KEY (delivery, version)
);

-- What a caller's Idempotency-Key stands for.
CREATE TABLE idempotency (
  tenant text COLLATE "C" NOT NULL,
  endpoint text COLLATE "C" NOT NULL,
  idem_key text COLLATE "C" NOT NULL,
  body_hash text COLLATE "C" NOT NULL,
  owner text COLLATE "C" NOT NULL,
  answer text NOT NULL DEFAULT '',
  created_at bigint NOT NULL,
  expires_at bigint NOT NULL,
  PRIMARY KEY (tenant, endpoint, idem_key)
);
CREATE INDEX idempotency_expiry ON idempotency (expires_at);

-- Which message a dedup_key stands for, until its window closes.
CREATE TABLE dedup (
  tenant text COLLATE "C" NOT NULL,
  channel text COLLATE "C" NOT NULL,
  dedup_key text COLLATE "C" NOT NULL,
  message_id text COLLATE "C" NOT NULL,
  created_at bigint NOT NULL,
  expires_at bigint NOT NULL,
  PRIMARY KEY (tenant, channel, dedup_key)
);
CREATE INDEX dedup_expiry ON dedup (expires_at);

-- Messages that callers hand in within their own transactions; the relay moves them on.
-- A plain INSERT needs the draft alone.
CREATE TABLE outbox (
  id text COLLATE "C" NOT NULL DEFAULT gen_random_uuid(),
  tenant text COLLATE "C" NOT NULL DEFAULT 'default',
  draft text NOT NULL,
  created_at bigint NOT NULL DEFAULT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint,
  error text NOT NULL DEFAULT '',
  failed_at bigint NOT NULL DEFAULT 0,
  failures integer NOT NULL DEFAULT 0,
  due_at bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (id)
);
CREATE INDEX outbox_due ON outbox (due_at, created_at, id);

-- The configured channels; secrets in config are sealed.
CREATE TABLE channels (
  tenant text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  driver text COLLATE "C" NOT NULL,
  config text NOT NULL DEFAULT '',
  settings text NOT NULL DEFAULT '',
  paused smallint NOT NULL DEFAULT 0,
  pause_reason text COLLATE "C" NOT NULL DEFAULT '',
  version bigint NOT NULL DEFAULT 1,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  PRIMARY KEY (tenant, name)
);

-- Accounts that a provider refused: parked until a time, then probed.
CREATE TABLE gates (
  tenant text COLLATE "C" NOT NULL,
  channel text COLLATE "C" NOT NULL,
  account text COLLATE "C" NOT NULL,
  until_at bigint NOT NULL DEFAULT 0,
  class text COLLATE "C" NOT NULL,
  code text COLLATE "C" NOT NULL DEFAULT '',
  error text NOT NULL DEFAULT '',
  refusals integer NOT NULL DEFAULT 0,
  updated_at bigint NOT NULL,
  PRIMARY KEY (tenant, channel, account)
);

-- Every version of every template.
CREATE TABLE templates (
  tenant text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  version integer NOT NULL,
  title text NOT NULL DEFAULT '',
  body text NOT NULL DEFAULT '',
  lenient smallint NOT NULL DEFAULT 0,
  created_at bigint NOT NULL,
  PRIMARY KEY (tenant, name, version)
);

-- Who is on duty: the roster itself.
CREATE TABLE rosters (
  tenant text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  hand_over text COLLATE "C" NOT NULL DEFAULT '',
  time_zone text COLLATE "C" NOT NULL DEFAULT '',
  updated_at bigint NOT NULL,
  PRIMARY KEY (tenant, name)
);

-- Days a roster knows; an override with nobody on duty is a day without entries.
CREATE TABLE roster_days (
  tenant text COLLATE "C" NOT NULL,
  roster text COLLATE "C" NOT NULL,
  day text COLLATE "C" NOT NULL,
  PRIMARY KEY (tenant, roster, day)
);

-- Who is on duty on a day: 1 to 7 (Monday = 1), or a date.
CREATE TABLE roster_entries (
  tenant text COLLATE "C" NOT NULL,
  roster text COLLATE "C" NOT NULL,
  day text COLLATE "C" NOT NULL,
  user_id text COLLATE "C" NOT NULL,
  position integer NOT NULL DEFAULT 0,
  PRIMARY KEY (tenant, roster, day, user_id)
);

-- The directory.
CREATE TABLE users (
  tenant text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL DEFAULT '',
  type text COLLATE "C" NOT NULL DEFAULT '',
  addresses text NOT NULL DEFAULT '',
  updated_at bigint NOT NULL,
  PRIMARY KEY (tenant, id)
);

-- Keys of the API; only a hash of the secret is kept.
CREATE TABLE api_keys (
  id text COLLATE "C" NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  scope text COLLATE "C" NOT NULL,
  hash text COLLATE "C" NOT NULL,
  created_at bigint NOT NULL,
  revoked_at bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (id)
);

-- Shared limits: the state of all windows of one key.
CREATE TABLE limits (
  name text COLLATE "C" NOT NULL,
  state text NOT NULL DEFAULT '',
  updated_at bigint NOT NULL,
  PRIMARY KEY (name)
);

INSERT INTO meta (name, value) VALUES ('epoch', '1');

-- Every delivery, open or settled, for readers of the database.
CREATE VIEW deliveries AS
SELECT id, tenant, channel, account, priority, user_id, address, recipient_type, state, reason, last_error, version, token, attempts, tries, claim_losses, idem_key, on_unknown, provider_ref, unconfirmed, cancel_requested, replay_of, epoch, created_at, updated_at, due_at, not_before, deadline, started_at, first_start_at, lease_until, lease_owner FROM queue
UNION ALL
SELECT id, tenant, channel, account, priority, user_id, address, recipient_type, state, reason, last_error, version, token, attempts, tries, claim_losses, idem_key, on_unknown, provider_ref, unconfirmed, cancel_requested, replay_of, epoch, created_at, updated_at, due_at, not_before, deadline, started_at, first_start_at, lease_until, lease_owner FROM settled;

-- The bank's two tables under their own names, for readers of the database.
CREATE VIEW message_send_log AS
SELECT d.id AS id, d.user_id AS user_id, d.channel AS platform, (m.content::json ->> 'text') AS content,
  CASE WHEN d.state = 'pending' AND d.tries > 0 THEN 'failure'
       WHEN d.state IN ('pending', 'sending') THEN 'pending'
       WHEN d.state = 'unknown' THEN 'failure'
       WHEN d.state IN ('sent', 'delivered') THEN 'success'
       WHEN d.state = 'failed' THEN 'stopped'
       ELSE d.state END AS status,
  d.tries AS retry_count, to_timestamp(d.created_at / 1000000.0) AS create_time, to_timestamp(d.updated_at / 1000000.0) AS update_time,
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
