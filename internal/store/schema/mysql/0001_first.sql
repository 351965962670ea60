-- +goose Up
-- Text is compared by its bytes, but MySQL takes no notice of spaces at the end of a varchar.
-- Where a caller's text is a key, its column is varbinary.
--
-- Each statement commits by itself here. A process that is killed halfway leaves what it has made, and
-- the next one begins anew: so each statement may find its work done.

-- What there is once: the epoch, and when this database was made.
CREATE TABLE posthouse_meta (
  name varchar(128) NOT NULL,
  value mediumtext NOT NULL DEFAULT (''),
  PRIMARY KEY (name)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin COMMENT='posthouse';

-- A message never changes after it was accepted. One to a single recipient carries its delivery, from user_id on, and sole is
-- 1 while that is clean: waiting for its first attempt (posthouse_due), in it (posthouse_flights) or sent by it
-- (posthouse_sent). What takes another course becomes a row of posthouse_queue or posthouse_settled.
CREATE TABLE posthouse_messages (
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
  options mediumtext NOT NULL DEFAULT (''),
  user_id varchar(255) NOT NULL DEFAULT '',
  address varchar(512) NOT NULL DEFAULT '',
  recipient_type varchar(128) NOT NULL DEFAULT '',
  account varchar(128) NOT NULL DEFAULT '',
  idem_key varchar(26) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
  policy varchar(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
  epoch bigint NOT NULL DEFAULT 0,
  due_at bigint NOT NULL DEFAULT 0,
  sole smallint NOT NULL DEFAULT 0,
  PRIMARY KEY (id),
  KEY posthouse_messages_ref (tenant, kind, ref, id),
  KEY posthouse_messages_user (tenant, user_id, id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin COMMENT='posthouse'
PARTITION BY RANGE COLUMNS (id) (PARTITION old VALUES LESS THAN ('0'), PARTITION rest VALUES LESS THAN (MAXVALUE));

-- The clean deliveries that wait for their first attempt: the key is the row.
CREATE TABLE posthouse_due (
  tenant varchar(128) NOT NULL,
  channel varchar(128) NOT NULL,
  priority smallint NOT NULL,
  due_at bigint NOT NULL,
  id varchar(26) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  PRIMARY KEY (tenant, channel, priority, due_at, id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin COMMENT='posthouse';

-- The clean deliveries in their first attempt, a row a claim: ids is a JSON array and accounts
-- the accounts of these by their places (none where the channel has one without a name), gone names those that took another course.
CREATE TABLE posthouse_flights (
  id varchar(26) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  tenant varchar(128) NOT NULL,
  channel varchar(128) NOT NULL,
  priority smallint NOT NULL,
  accounts mediumtext NOT NULL DEFAULT (''),
  owner varchar(128) NOT NULL,
  epoch bigint NOT NULL,
  started_at bigint NOT NULL,
  lease_until bigint NOT NULL,
  ids mediumtext NOT NULL,
  gone mediumtext NOT NULL DEFAULT (''),
  PRIMARY KEY (id),
  KEY posthouse_flights_lease (lease_until)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin COMMENT='posthouse';

-- The clean deliveries that were sent by their first attempt, with the history of that.
CREATE TABLE posthouse_sent (
  id varchar(26) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  tenant varchar(128) NOT NULL,
  channel varchar(128) NOT NULL,
  at bigint NOT NULL,
  started_at bigint NOT NULL,
  lease_until bigint NOT NULL,
  owner varchar(128) NOT NULL,
  epoch bigint NOT NULL,
  account varchar(128) NOT NULL DEFAULT '',
  class varchar(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
  code varchar(255) NOT NULL DEFAULT '',
  ref varchar(512) NOT NULL DEFAULT '',
  request mediumtext NOT NULL DEFAULT (''),
  response mediumtext NOT NULL DEFAULT (''),
  PRIMARY KEY (id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin COMMENT='posthouse'
PARTITION BY RANGE COLUMNS (id) (PARTITION old VALUES LESS THAN ('0'), PARTITION rest VALUES LESS THAN (MAXVALUE));

-- The open deliveries: narrow rows that move fast and leave when they settle.
CREATE TABLE posthouse_queue (
  id varchar(26) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  tenant varchar(128) NOT NULL,
  channel varchar(128) NOT NULL,
  account varchar(128) NOT NULL DEFAULT '',
  pin varchar(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
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
  notification varchar(26) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
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
  KEY posthouse_queue_due (tenant, channel, priority, state, pin, due_at, id),
  KEY posthouse_queue_lease (state, lease_until),
  KEY posthouse_queue_unknown (state, due_at),
  KEY posthouse_queue_deadline (deadline),
  KEY posthouse_queue_user (tenant, user_id, id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin COMMENT='posthouse';

-- The settled deliveries, in the columns of the queue.
CREATE TABLE posthouse_settled (
  id varchar(26) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  tenant varchar(128) NOT NULL,
  channel varchar(128) NOT NULL,
  account varchar(128) NOT NULL DEFAULT '',
  pin varchar(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
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
  notification varchar(26) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
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
  KEY posthouse_settled_user (tenant, user_id, id),
  KEY posthouse_settled_trouble (tenant, state, id, channel, reason)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin COMMENT='posthouse'
PARTITION BY RANGE COLUMNS (id) (PARTITION old VALUES LESS THAN ('0'), PARTITION rest VALUES LESS THAN (MAXVALUE));

-- The event log: one row for each transition, in the transaction that made it.
CREATE TABLE posthouse_transitions (
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
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin COMMENT='posthouse'
PARTITION BY RANGE COLUMNS (delivery) (PARTITION old VALUES LESS THAN ('0'), PARTITION rest VALUES LESS THAN (MAXVALUE));

-- The deliveries that were settled long after they were accepted: they stay when the partition of their time is dropped.
CREATE TABLE posthouse_late (
  id varchar(26) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  at bigint NOT NULL,
  PRIMARY KEY (id),
  KEY posthouse_late_age (at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin COMMENT='posthouse';

-- What a caller's Idempotency-Key stands for.
CREATE TABLE posthouse_idempotency (
  tenant varchar(128) NOT NULL,
  endpoint varchar(128) NOT NULL,
  idem_key varbinary(1020) NOT NULL,
  body_hash varchar(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  owner varchar(26) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  answer mediumtext NOT NULL DEFAULT (''),
  created_at bigint NOT NULL,
  expires_at bigint NOT NULL,
  PRIMARY KEY (tenant, endpoint, idem_key),
  KEY posthouse_idempotency_expiry (expires_at),
  KEY posthouse_idempotency_owner (owner)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin COMMENT='posthouse';

-- Which message a dedup_key stands for, until its window closes.
CREATE TABLE posthouse_dedup (
  tenant varchar(128) NOT NULL,
  channel varchar(128) NOT NULL,
  dedup_key varbinary(1020) NOT NULL,
  message_id varchar(26) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  created_at bigint NOT NULL,
  expires_at bigint NOT NULL,
  PRIMARY KEY (tenant, channel, dedup_key),
  KEY posthouse_dedup_expiry (expires_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin COMMENT='posthouse';

-- Messages that callers hand in within their own transactions; the relay moves them on.
-- A plain INSERT needs the draft alone. seq keeps the order of rows that were written at one moment.
CREATE TABLE posthouse_outbox (
  seq bigint NOT NULL AUTO_INCREMENT,
  id varchar(64) NOT NULL DEFAULT (UUID()),
  tenant varchar(128) NOT NULL DEFAULT 'default',
  draft mediumtext NOT NULL,
  created_at bigint NOT NULL DEFAULT (TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))),
  error mediumtext NOT NULL DEFAULT (''),
  failed_at bigint NOT NULL DEFAULT 0,
  failures int NOT NULL DEFAULT 0,
  due_at bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (id),
  KEY posthouse_outbox_seq (seq),
  KEY posthouse_outbox_due (due_at, created_at, seq)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin COMMENT='posthouse';

-- The configured channels; secrets in config are sealed. fleet rises with every change of its accounts.
CREATE TABLE posthouse_channels (
  tenant varchar(128) NOT NULL,
  name varchar(128) NOT NULL,
  driver varchar(128) NOT NULL,
  config mediumtext NOT NULL DEFAULT (''),
  settings mediumtext NOT NULL DEFAULT (''),
  paused smallint NOT NULL DEFAULT 0,
  pause_reason varchar(255) NOT NULL DEFAULT '',
  paused_until bigint NOT NULL DEFAULT 0,
  version bigint NOT NULL DEFAULT 1,
  fleet bigint NOT NULL DEFAULT 0,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  PRIMARY KEY (tenant, name)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin COMMENT='posthouse';

-- The accounts that a channel sends by, where it has several; secrets in config are sealed.
CREATE TABLE posthouse_accounts (
  tenant varchar(128) NOT NULL,
  channel varchar(128) NOT NULL,
  name varchar(128) NOT NULL,
  config mediumtext NOT NULL DEFAULT (''),
  settings mediumtext NOT NULL DEFAULT (''),
  paused smallint NOT NULL DEFAULT 0,
  pause_reason varchar(255) NOT NULL DEFAULT '',
  paused_until bigint NOT NULL DEFAULT 0,
  version bigint NOT NULL DEFAULT 1,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  PRIMARY KEY (tenant, channel, name)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin COMMENT='posthouse';

-- Accounts that a provider refused: parked until a time, then probed.
CREATE TABLE posthouse_gates (
  tenant varchar(128) NOT NULL,
  channel varchar(128) NOT NULL,
  account varchar(128) NOT NULL,
  until_at bigint NOT NULL DEFAULT 0,
  class varchar(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  code varchar(255) NOT NULL DEFAULT '',
  error mediumtext NOT NULL DEFAULT (''),
  refusals int NOT NULL DEFAULT 0,
  learned bigint NOT NULL DEFAULT 0,
  updated_at bigint NOT NULL,
  PRIMARY KEY (tenant, channel, account)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin COMMENT='posthouse';

-- How the attempts of each minute ended: n of them, ms of calls together. minute counts from 1970. Statistics, written about once a
-- second; what a process had counted when it was killed is missing. After 90 days the minutes of an hour become a row of posthouse_hours.
CREATE TABLE posthouse_minutes (
  minute bigint NOT NULL,
  tenant varchar(128) NOT NULL,
  channel varchar(128) NOT NULL,
  account varchar(128) NOT NULL,
  type varchar(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  outcome varchar(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  n bigint NOT NULL,
  ms bigint NOT NULL,
  PRIMARY KEY (minute, tenant, channel, account, type, outcome)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin COMMENT='posthouse';

-- The same by the hour, of what is older.
CREATE TABLE posthouse_hours (
  hour bigint NOT NULL,
  tenant varchar(128) NOT NULL,
  channel varchar(128) NOT NULL,
  account varchar(128) NOT NULL,
  type varchar(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  outcome varchar(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  n bigint NOT NULL,
  ms bigint NOT NULL,
  PRIMARY KEY (hour, tenant, channel, account, type, outcome)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin COMMENT='posthouse';

-- The counts of minutes without what tells accounts and contents apart: what charts of minutes are drawn from. Kept for a day.
CREATE TABLE posthouse_pulse (
  minute bigint NOT NULL,
  tenant varchar(128) NOT NULL,
  channel varchar(128) NOT NULL,
  outcome varchar(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  n bigint NOT NULL,
  PRIMARY KEY (minute, tenant, channel, outcome)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin COMMENT='posthouse';

-- The same by the hour, without what tells accounts and contents apart: what charts of days and months are drawn from. One row a key and hour
-- however large a fleet is, written with the minutes, for as long as the database.
CREATE TABLE posthouse_totals (
  tenant varchar(128) NOT NULL,
  hour bigint NOT NULL,
  channel varchar(128) NOT NULL,
  outcome varchar(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  n bigint NOT NULL,
  PRIMARY KEY (tenant, hour, channel, outcome)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin COMMENT='posthouse';

-- How fast accounts could go, once a minute for those that had called: the rate in millionths of a call a second, and what it was made of,
-- in millionths. A row for each process that sent by the account. minute counts from 1970. Kept for a day.
CREATE TABLE posthouse_rates (
  tenant varchar(128) NOT NULL,
  channel varchar(128) NOT NULL,
  account varchar(128) NOT NULL,
  minute bigint NOT NULL,
  process bigint NOT NULL,
  rate bigint NOT NULL,
  base bigint NOT NULL,
  by_health bigint NOT NULL,
  by_success bigint NOT NULL,
  by_load bigint NOT NULL,
  by_time bigint NOT NULL,
  reason varchar(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  PRIMARY KEY (tenant, channel, account, minute, process),
  KEY posthouse_rates_minute (minute)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin COMMENT='posthouse';

-- The processes that work on this database, or did in the last day: each says every few seconds that it is there, and takes its row away when it
-- stops. id is the owner of its leases, schema_version the newest that it knows, keyring a fingerprint of its keys, key_id the newest of them.
CREATE TABLE posthouse_processes (
  id varchar(128) NOT NULL PRIMARY KEY,
  host varchar(255) NOT NULL,
  version varchar(128) NOT NULL,
  schema_version bigint NOT NULL,
  epoch bigint NOT NULL,
  key_id varchar(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  keyring varchar(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  accept_only smallint NOT NULL,
  untrusted smallint NOT NULL,
  started_at bigint NOT NULL,
  seen_at bigint NOT NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin COMMENT='posthouse';

-- What an installation knows of providers besides what ships: the files as they were added.
CREATE TABLE posthouse_presets (
  tenant varchar(128) NOT NULL,
  name varchar(128) NOT NULL,
  version int NOT NULL,
  body mediumtext NOT NULL,
  shapes mediumtext NOT NULL,
  updated_at bigint NOT NULL,
  PRIMARY KEY (tenant, name)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin COMMENT='posthouse';

-- Every version of every template.
CREATE TABLE posthouse_templates (
  tenant varchar(128) NOT NULL,
  name varchar(128) NOT NULL,
  version int NOT NULL,
  title mediumtext NOT NULL DEFAULT (''),
  body mediumtext NOT NULL DEFAULT (''),
  lenient smallint NOT NULL DEFAULT 0,
  created_at bigint NOT NULL,
  external_id varchar(255) NOT NULL DEFAULT '',
  parameters mediumtext NOT NULL DEFAULT (''),
  disabled smallint NOT NULL DEFAULT 0,
  PRIMARY KEY (tenant, name, version)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin COMMENT='posthouse';

-- Every version of every route: doc is its steps and how they follow one another, as JSON.
CREATE TABLE posthouse_routes (
  tenant varchar(128) NOT NULL,
  name varchar(128) NOT NULL,
  version int NOT NULL,
  doc mediumtext NOT NULL,
  created_at bigint NOT NULL,
  PRIMARY KEY (tenant, name, version)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin COMMENT='posthouse';

-- Who is on duty: the roster itself.
CREATE TABLE posthouse_rosters (
  tenant varchar(128) NOT NULL,
  name varchar(128) NOT NULL,
  hand_over varchar(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
  time_zone varchar(128) NOT NULL DEFAULT '',
  updated_at bigint NOT NULL,
  PRIMARY KEY (tenant, name)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin COMMENT='posthouse';

-- Days a roster knows; an override with nobody on duty is a day without entries.
CREATE TABLE posthouse_roster_days (
  tenant varchar(128) NOT NULL,
  roster varchar(128) NOT NULL,
  day varchar(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  PRIMARY KEY (tenant, roster, day)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin COMMENT='posthouse';

-- Who is on duty on a day: 1 to 7 (Monday = 1), or a date.
CREATE TABLE posthouse_roster_entries (
  tenant varchar(128) NOT NULL,
  roster varchar(128) NOT NULL,
  day varchar(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  user_id varchar(255) NOT NULL,
  position int NOT NULL DEFAULT 0,
  PRIMARY KEY (tenant, roster, day, user_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin COMMENT='posthouse';

-- The directory.
CREATE TABLE posthouse_users (
  tenant varchar(128) NOT NULL,
  id varchar(255) NOT NULL,
  name varchar(512) NOT NULL DEFAULT '',
  type varchar(128) NOT NULL DEFAULT '',
  addresses mediumtext NOT NULL DEFAULT (''),
  updated_at bigint NOT NULL,
  PRIMARY KEY (tenant, id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin COMMENT='posthouse';

-- Keys of the API; only a hash of the secret is kept.
CREATE TABLE posthouse_api_keys (
  id varchar(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  tenant varchar(128) NOT NULL,
  name varchar(255) NOT NULL,
  scope varchar(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  hash varchar(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  created_at bigint NOT NULL,
  revoked_at bigint NOT NULL DEFAULT 0,
  agent varchar(128) NOT NULL DEFAULT '',
  note varchar(255) NOT NULL DEFAULT '',
  expires_at bigint NOT NULL DEFAULT 0,
  last_used_at bigint NOT NULL DEFAULT 0,
  limits mediumtext NOT NULL DEFAULT (''),
  PRIMARY KEY (id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin COMMENT='posthouse';

-- What people have said of a tenant. One that has things and no row is one too. quota is JSON, empty for none.
CREATE TABLE posthouse_tenants (
  name varchar(128) NOT NULL,
  note varchar(255) NOT NULL DEFAULT '',
  quota mediumtext NOT NULL DEFAULT (''),
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  PRIMARY KEY (name)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin COMMENT='posthouse';

-- The messages that count against a key's quota of open deliveries: of keys that have one, until the count finds them settled.
CREATE TABLE posthouse_charges (
  key_id varchar(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  message varchar(26) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  PRIMARY KEY (key_id, message)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin COMMENT='posthouse';

-- The lines of ordering keys in which something stands: which message was admitted last, and when to look who is next.
CREATE TABLE posthouse_lines (
  tenant varchar(128) NOT NULL,
  channel varchar(128) NOT NULL,
  line varchar(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  holder varchar(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
  since bigint NOT NULL DEFAULT 0,
  look_at bigint NOT NULL,
  PRIMARY KEY (tenant, channel, line)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin COMMENT='posthouse';
CREATE INDEX posthouse_lines_look ON posthouse_lines (look_at);
CREATE INDEX posthouse_lines_holder ON posthouse_lines (holder);

-- Who changed what, of configuration, keys and deliveries. Rows are only added; they go when their time is over.
CREATE TABLE posthouse_audit (
  id varchar(26) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  tenant varchar(128) NOT NULL,
  at bigint NOT NULL,
  key_id varchar(128) NOT NULL DEFAULT '',
  key_name varchar(255) NOT NULL DEFAULT '',
  source varchar(128) NOT NULL DEFAULT '',
  action varchar(128) NOT NULL,
  target varchar(512) NOT NULL DEFAULT '',
  note varchar(255) NOT NULL DEFAULT '',
  affected bigint NOT NULL DEFAULT 0,
  detail mediumtext NOT NULL DEFAULT (''),
  keep_until bigint NOT NULL,
  PRIMARY KEY (id),
  KEY posthouse_audit_tenant (tenant, id),
  KEY posthouse_audit_age (keep_until)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin COMMENT='posthouse';

-- The hash chain over what is stored, where it is switched on: a row a link.
CREATE TABLE posthouse_checkpoints (
  seq bigint NOT NULL,
  at bigint NOT NULL,
  pass int NOT NULL,
  low_id varchar(26) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
  high_id varchar(26) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
  keep bigint NOT NULL,
  messages int NOT NULL,
  body_hash varchar(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  prev varchar(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
  hash varchar(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  body mediumtext CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT (''),
  PRIMARY KEY (seq)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin COMMENT='posthouse';

-- Shared limits: the state of all windows of one key.
CREATE TABLE posthouse_limits (
  name varchar(512) NOT NULL,
  state mediumtext NOT NULL DEFAULT (''),
  updated_at bigint NOT NULL,
  PRIMARY KEY (name)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin COMMENT='posthouse';

INSERT INTO posthouse_meta (name, value) VALUES ('epoch', '1'), ('feed', ''), ('leaving', ''), ('starts', '');

-- What is to be done at a time, and what is known so far: reminders, and the tasks of workflows. next_at 0 is never.
CREATE TABLE posthouse_plans (
  tenant varchar(128) NOT NULL,
  type varchar(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  id varbinary(1020) NOT NULL,
  kind varchar(128) NOT NULL DEFAULT '',
  ref varbinary(1020) NOT NULL DEFAULT '',
  state varchar(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
  doc mediumtext NOT NULL DEFAULT (''),
  version bigint NOT NULL DEFAULT 1,
  next_at bigint NOT NULL DEFAULT 0,
  failures int NOT NULL DEFAULT 0,
  error mediumtext NOT NULL DEFAULT (''),
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  PRIMARY KEY (tenant, type, id),
  KEY posthouse_plans_due (next_at, id),
  KEY posthouse_plans_ref (tenant, type, kind, ref),
  KEY posthouse_plans_state (tenant, type, state, id),
  KEY posthouse_plans_over (next_at, updated_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin COMMENT='posthouse';

-- Who has which role.
CREATE TABLE posthouse_user_roles (
  tenant varchar(128) NOT NULL,
  role varbinary(1020) NOT NULL,
  user_id varbinary(1020) NOT NULL,
  PRIMARY KEY (tenant, role, user_id),
  KEY posthouse_user_roles_user (tenant, user_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin COMMENT='posthouse';

-- By which words users are found: lower-case parts of names, and addresses.
CREATE TABLE posthouse_user_words (
  tenant varchar(128) NOT NULL,
  word varbinary(255) NOT NULL,
  user_id varbinary(1020) NOT NULL,
  PRIMARY KEY (tenant, word, user_id),
  KEY posthouse_user_words_user (tenant, user_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin COMMENT='posthouse';

-- Deliveries that were sent and whose receipts have to be asked for.
CREATE TABLE posthouse_awaited (
  delivery varchar(26) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  tenant varchar(128) NOT NULL,
  channel varchar(128) NOT NULL,
  account varchar(255) NOT NULL DEFAULT '',
  ref varchar(512) NOT NULL DEFAULT '',
  due_at bigint NOT NULL,
  until_at bigint NOT NULL,
  asks int NOT NULL DEFAULT 0,
  PRIMARY KEY (delivery),
  KEY posthouse_awaited_due (due_at, delivery),
  KEY posthouse_awaited_ref (ref)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin COMMENT='posthouse';

-- Access tokens of providers, sealed, shared by all processes; the holder is refreshing it.
CREATE TABLE posthouse_tokens (
  name varchar(255) NOT NULL,
  value mediumtext NOT NULL DEFAULT (''),
  generation bigint NOT NULL DEFAULT 0,
  expires_at bigint NOT NULL DEFAULT 0,
  holder varchar(255) NOT NULL DEFAULT '',
  held_until bigint NOT NULL DEFAULT 0,
  updated_at bigint NOT NULL,
  PRIMARY KEY (name)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin COMMENT='posthouse';

-- What callers of the compatibility face have said of a job: its status, or that it is deleted.
CREATE TABLE posthouse_notify_marks (
  job varbinary(1020) NOT NULL,
  tenant varchar(128) NOT NULL,
  status smallint NOT NULL DEFAULT -1,
  deleted smallint NOT NULL DEFAULT 0,
  update_by varchar(255) NOT NULL DEFAULT '',
  updated_at bigint NOT NULL,
  PRIMARY KEY (tenant, job),
  KEY posthouse_notify_marks_age (updated_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin COMMENT='posthouse';

-- The numbers that jobs of the compatibility face have, for callers whose ids are whole numbers.
CREATE TABLE posthouse_job_numbers (
  number bigint NOT NULL,
  job varbinary(1020) NOT NULL,
  tenant varchar(128) NOT NULL,
  created_at bigint NOT NULL,
  PRIMARY KEY (tenant, number),
  KEY posthouse_job_numbers_age (created_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin COMMENT='posthouse';
CREATE UNIQUE INDEX posthouse_job_numbers_job ON posthouse_job_numbers (tenant, job);

-- Phones and other programs that fetch deliveries. limits is JSON, or null for the usual ones.
CREATE TABLE posthouse_agents (
  tenant varchar(128) NOT NULL,
  id varchar(128) NOT NULL,
  name varchar(255) NOT NULL DEFAULT '',
  channels mediumtext NOT NULL DEFAULT (''),
  capabilities mediumtext NOT NULL DEFAULT (''),
  limits mediumtext NOT NULL DEFAULT (''),
  state varchar(128) NOT NULL,
  reason varchar(255) NOT NULL DEFAULT '',
  key_id varchar(128) NOT NULL DEFAULT '',
  app varchar(255) NOT NULL DEFAULT '',
  last_seen_at bigint NOT NULL DEFAULT 0,
  version bigint NOT NULL DEFAULT 1,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  PRIMARY KEY (tenant, id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin COMMENT='posthouse';

-- What an agent was handed by a claim that it may repeat: deliveries is JSON, ids with tokens.
CREATE TABLE posthouse_agent_claims (
  tenant varchar(128) NOT NULL,
  agent varchar(128) NOT NULL,
  claim_id varbinary(1020) NOT NULL,
  deliveries mediumtext NOT NULL DEFAULT (''),
  created_at bigint NOT NULL,
  expires_at bigint NOT NULL,
  PRIMARY KEY (tenant, agent, claim_id),
  KEY posthouse_agent_claims_expiry (expires_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin COMMENT='posthouse';

-- The log of requests to send.
CREATE TABLE posthouse_receive_log (
  id varchar(26) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  tenant varchar(128) NOT NULL,
  at bigint NOT NULL,
  delivery varchar(26) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
  request_id varchar(255) NOT NULL DEFAULT '',
  phone varchar(255) NOT NULL DEFAULT '',
  content mediumtext NOT NULL DEFAULT (''),
  templated smallint NOT NULL DEFAULT 0,
  source_ip varchar(255) NOT NULL DEFAULT '',
  user_agent mediumtext NOT NULL DEFAULT (''),
  request mediumtext NOT NULL DEFAULT (''),
  response mediumtext NOT NULL DEFAULT (''),
  status int NOT NULL DEFAULT 0,
  PRIMARY KEY (id),
  KEY posthouse_receive_log_tenant (tenant, at, id),
  KEY posthouse_receive_log_delivery (delivery),
  KEY posthouse_receive_log_age (at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin COMMENT='posthouse';

-- The log of hand-outs: who was handed a delivery with which token.
CREATE TABLE posthouse_send_log (
  delivery varchar(26) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  token bigint NOT NULL,
  tenant varchar(128) NOT NULL,
  at bigint NOT NULL,
  agent varchar(128) NOT NULL,
  claim_id varbinary(1020) NOT NULL DEFAULT '',
  request mediumtext NOT NULL DEFAULT (''),
  PRIMARY KEY (delivery, token),
  KEY posthouse_send_log_tenant (tenant, at, delivery, token),
  KEY posthouse_send_log_age (at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin COMMENT='posthouse';

-- The log of reports. A report id is one agent's.
CREATE TABLE posthouse_report_log (
  id varchar(26) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  tenant varchar(128) NOT NULL,
  at bigint NOT NULL,
  delivery varchar(26) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  agent varchar(128) NOT NULL,
  report_id varbinary(1020) NOT NULL,
  token bigint NOT NULL DEFAULT 0,
  outcome varchar(128) NOT NULL,
  code varchar(255) NOT NULL DEFAULT '',
  error mediumtext NOT NULL DEFAULT (''),
  retry smallint NOT NULL DEFAULT 0,
  ref mediumtext NOT NULL DEFAULT (''),
  request mediumtext NOT NULL DEFAULT (''),
  answer varchar(128) NOT NULL,
  state varchar(128) NOT NULL DEFAULT '',
  PRIMARY KEY (tenant, agent, report_id),
  KEY posthouse_report_log_tenant (tenant, at, id),
  KEY posthouse_report_log_delivery (delivery, agent, id),
  KEY posthouse_report_log_age (at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin COMMENT='posthouse';

-- How many deliveries of a pulled channel there are of a kind: the sum over its slots, so that writers do not wait for each other.
CREATE TABLE posthouse_tallies (
  tenant varchar(128) NOT NULL,
  channel varchar(128) NOT NULL,
  bucket varchar(128) NOT NULL,
  slot int NOT NULL,
  n bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (tenant, channel, bucket, slot)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin COMMENT='posthouse';

-- The contents of sensitive messages, encrypted, until they are forgotten.
CREATE TABLE posthouse_sealed (
  message varchar(26) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  tenant varchar(128) NOT NULL,
  body mediumtext NOT NULL,
  forget_at bigint NOT NULL,
  PRIMARY KEY (message),
  KEY posthouse_sealed_forget (forget_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin COMMENT='posthouse';

-- The texts of the SMS front door. The document's own name for them, sms_templates, is that of a view.
CREATE TABLE posthouse_sms_texts (
  tenant varchar(128) NOT NULL,
  id bigint NOT NULL,
  name varchar(255) NOT NULL DEFAULT '',
  body mediumtext NOT NULL DEFAULT (''),
  active smallint NOT NULL DEFAULT 1,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  PRIMARY KEY (tenant, id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin COMMENT='posthouse';

-- What a phone is sent where a request has no content. sent is set by an import alone: else the dedup key of the generation says it.
CREATE TABLE posthouse_default_sms (
  tenant varchar(128) NOT NULL,
  phone varchar(128) NOT NULL,
  body mediumtext NOT NULL DEFAULT (''),
  templated smallint NOT NULL DEFAULT 0,
  generation bigint NOT NULL DEFAULT 1,
  sent smallint NOT NULL DEFAULT 0,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  PRIMARY KEY (tenant, phone)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin COMMENT='posthouse';

-- Lists of people that campaigns are sent to, and how far their imports are. The name of one that belongs to a campaign alone is its id.
CREATE TABLE posthouse_audiences (
  id varchar(26) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  tenant varchar(128) NOT NULL,
  name varchar(128) NOT NULL,
  channel varchar(128) NOT NULL DEFAULT '',
  state varchar(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  format mediumtext NOT NULL DEFAULT (''),
  header mediumtext NOT NULL DEFAULT (''),
  skipping int NOT NULL DEFAULT 0,
  file_offset bigint NOT NULL DEFAULT 0,
  line bigint NOT NULL DEFAULT 1,
  digest mediumtext NOT NULL DEFAULT (''),
  sha256 mediumtext NOT NULL DEFAULT (''),
  last_seq bigint NOT NULL DEFAULT 0,
  members bigint NOT NULL DEFAULT 0,
  repeated bigint NOT NULL DEFAULT 0,
  refused bigint NOT NULL DEFAULT 0,
  fields mediumtext NOT NULL DEFAULT (''),
  pages bigint NOT NULL DEFAULT 0,
  version bigint NOT NULL DEFAULT 1,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  PRIMARY KEY (tenant, name),
  KEY posthouse_audiences_id (id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin COMMENT='posthouse';

-- What an audience is made of: packed members by the number of the first, pages of the index, marks of who stands twice, and lines that
-- were refused; under the id of a campaign, marks of whom it leaves out. Rows of 1,000 members, so that ten million take ten thousand rows.
CREATE TABLE posthouse_audience_blocks (
  audience varchar(26) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  part varchar(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  first_seq bigint NOT NULL,
  n int NOT NULL,
  bytes mediumblob NOT NULL,
  PRIMARY KEY (audience, part, first_seq)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin COMMENT='posthouse';

-- A campaign sends one template to an audience. rules says, as JSON, how carefully, and marks what it has noted for them.
CREATE TABLE posthouse_campaigns (
  id varchar(26) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  tenant varchar(128) NOT NULL,
  name varchar(128) NOT NULL,
  channel varchar(128) NOT NULL,
  kind varchar(128) NOT NULL DEFAULT '',
  template varchar(128) NOT NULL DEFAULT '',
  template_version int NOT NULL DEFAULT 0,
  content mediumtext NOT NULL DEFAULT (''),
  payload mediumtext NOT NULL DEFAULT (''),
  list_name varchar(128) NOT NULL DEFAULT '',
  audience varchar(26) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  priority int NOT NULL DEFAULT 1,
  on_unknown varchar(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
  start_at bigint NOT NULL DEFAULT 0,
  deadline bigint NOT NULL DEFAULT 0,
  segment_size int NOT NULL,
  state varchar(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  reason mediumtext NOT NULL DEFAULT (''),
  planned bigint NOT NULL DEFAULT 0,
  last_seq bigint NOT NULL DEFAULT 0,
  version bigint NOT NULL DEFAULT 1,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  started_at bigint NOT NULL DEFAULT 0,
  rules mediumtext NOT NULL,
  marks mediumtext NOT NULL,
  finished_at bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (tenant, name),
  KEY posthouse_campaigns_id (id),
  KEY posthouse_campaigns_audience (audience),
  KEY posthouse_campaigns_state (state, finished_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin COMMENT='posthouse';

-- A range of an audience that one worker sends to at a time. status is 0 free, 1 claimed, 2 done, 3 partly done, 4 void; outcomes has half
-- a byte for each member, and the columns behind it count them.
-- due_at is from when on it may be claimed, pass how often its members were refused before, began_at when the first of them was started, and
-- doubted_at is set where they may have been reached before. reasons says, as JSON, why members failed or are unknown, and noted has a byte
-- for each: which of the reasons is its own. accounts are, as a list of JSON, those of the channel's by which members were sent to, and via has
-- two bytes for each: which was the last; both are empty where the channel has one account. receipts has a byte for each member of whom the provider has told: 1 for delivered, or
-- above 1 the place in told of why it was not; only receipts write them, and the counts heard_ of it.
CREATE TABLE posthouse_segments (
  id varchar(26) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  campaign varchar(26) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  tenant varchar(128) NOT NULL,
  first_seq bigint NOT NULL,
  last_seq bigint NOT NULL,
  status int NOT NULL DEFAULT 0,
  reason varchar(128) NOT NULL DEFAULT '',
  token bigint NOT NULL DEFAULT 0,
  owner varchar(128) NOT NULL DEFAULT '',
  epoch bigint NOT NULL DEFAULT 0,
  lease_until bigint NOT NULL DEFAULT 0,
  outcomes mediumblob NOT NULL,
  unsent int NOT NULL DEFAULT 0,
  started int NOT NULL DEFAULT 0,
  sent int NOT NULL DEFAULT 0,
  delivered int NOT NULL DEFAULT 0,
  undelivered int NOT NULL DEFAULT 0,
  failed int NOT NULL DEFAULT 0,
  unknown int NOT NULL DEFAULT 0,
  expired int NOT NULL DEFAULT 0,
  suppressed int NOT NULL DEFAULT 0,
  cancelled int NOT NULL DEFAULT 0,
  handed_over int NOT NULL DEFAULT 0,
  repeated int NOT NULL DEFAULT 0,
  repaired_from varchar(26) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
  created_at bigint NOT NULL,
  finished_at bigint NOT NULL DEFAULT 0,
  due_at bigint NOT NULL DEFAULT 0,
  pass int NOT NULL DEFAULT 0,
  began_at bigint NOT NULL DEFAULT 0,
  doubted_at bigint NOT NULL DEFAULT 0,
  reasons mediumtext NOT NULL,
  noted mediumblob,
  accounts mediumtext NOT NULL,
  via mediumblob,
  receipts mediumblob,
  told mediumtext,
  heard_delivered int NOT NULL DEFAULT 0,
  heard_undelivered int NOT NULL DEFAULT 0,
  PRIMARY KEY (id),
  KEY posthouse_segments_range (campaign, first_seq),
  KEY posthouse_segments_status (campaign, status, due_at, first_seq),
  KEY posthouse_segments_left (status, lease_until)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin COMMENT='posthouse';

-- What providers call the messages of members, packed: a receipt finds its member by it. page is -1 for what was just written, else a share of
-- the hashes; rows of one page are of different runs.
CREATE TABLE posthouse_member_refs (
  page bigint NOT NULL,
  tenant varchar(128) NOT NULL,
  channel varchar(128) NOT NULL,
  run varchar(26) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  n int NOT NULL,
  until_at bigint NOT NULL,
  bytes mediumblob NOT NULL,
  PRIMARY KEY (page, tenant, channel, run),
  KEY posthouse_member_refs_until (until_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin COMMENT='posthouse';

-- What happened to deliveries, in the order of positions: deliveries that reached a version in one transaction. ids is a JSON array.
CREATE TABLE posthouse_feed (
  pos bigint NOT NULL,
  version bigint NOT NULL,
  at bigint NOT NULL,
  ids mediumtext NOT NULL,
  PRIMARY KEY (pos)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin COMMENT='posthouse';

-- The same before it has a position, where several processes write: a position given before the commit would let readers
-- pass by what commits later.
CREATE TABLE posthouse_feed_inbox (
  id varchar(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  version bigint NOT NULL,
  at bigint NOT NULL,
  ids mediumtext NOT NULL,
  PRIMARY KEY (id, version)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin COMMENT='posthouse';

-- What providers have told by themselves that is no receipt, as JSON, for who follows the feed.
CREATE TABLE posthouse_callback_events (
  id varchar(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  at bigint NOT NULL,
  doc mediumtext NOT NULL,
  PRIMARY KEY (id),
  KEY posthouse_callback_events_at (at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin COMMENT='posthouse';

-- Files that were handed in to be sent, and their bytes. Nobody sees one that is not complete.
CREATE TABLE posthouse_media (
  id varchar(26) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  tenant varchar(128) NOT NULL,
  name varchar(255) NOT NULL,
  type varchar(255) NOT NULL,
  size bigint NOT NULL,
  sum varchar(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  complete int NOT NULL,
  created_at bigint NOT NULL,
  expires_at bigint NOT NULL,
  PRIMARY KEY (id),
  KEY posthouse_media_sum (tenant, sum),
  KEY posthouse_media_expires (expires_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin COMMENT='posthouse';
CREATE TABLE posthouse_media_parts (
  media varchar(26) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  n int NOT NULL,
  bytes mediumblob NOT NULL,
  PRIMARY KEY (media, n)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin COMMENT='posthouse';

-- Addresses to which nothing is sent: in one channel, or in all where channel is empty. until_at is when that ends, 0 for never.
CREATE TABLE posthouse_suppressions (
  tenant varchar(128) NOT NULL,
  address varchar(512) NOT NULL,
  channel varchar(128) NOT NULL DEFAULT '',
  reason varchar(512) NOT NULL DEFAULT '',
  source varchar(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  until_at bigint NOT NULL DEFAULT 0,
  created_at bigint NOT NULL,
  PRIMARY KEY (tenant, address, channel),
  KEY posthouse_suppressions_until (until_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin COMMENT='posthouse';

-- Where providers call us, and whose each address is.
CREATE TABLE posthouse_callbacks (
  address varchar(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  tenant varchar(128) NOT NULL,
  channel varchar(128) NOT NULL,
  account varchar(255) NOT NULL DEFAULT '',
  created_at bigint NOT NULL,
  PRIMARY KEY (address),
  KEY posthouse_callbacks_channel (tenant, channel)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin COMMENT='posthouse';

-- Fronts: addresses at which senders of other makers hand in messages, each in its own form. token is the hash of what a sender shows,
-- settings is a document, and last_at is when something came, 0 for never.
CREATE TABLE posthouse_fronts (
  tenant varchar(128) NOT NULL,
  name varchar(128) NOT NULL,
  kind varchar(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  token varchar(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  settings mediumtext NOT NULL,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  last_at bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (tenant, name),
  UNIQUE KEY posthouse_fronts_token (token)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin COMMENT='posthouse';

-- What came last at each front, and what it became. messages is a document, shown is the body with its values masked, and body
-- is all of it, sealed.
CREATE TABLE posthouse_front_calls (
  tenant varchar(128) NOT NULL,
  front varchar(128) NOT NULL,
  id varchar(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  at bigint NOT NULL,
  outcome varchar(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  reason text NOT NULL,
  messages mediumtext NOT NULL,
  size bigint NOT NULL,
  shown mediumtext NOT NULL,
  body mediumtext NOT NULL,
  PRIMARY KEY (tenant, front, id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin COMMENT='posthouse';

-- Who may use the console. password is a hash by argon2id, empty for none: then a link alone lets in. totp is the sealed secret
-- of one-time codes, empty for none; totp_step is the last step of time whose code was taken, totp_spare has the hashes of the
-- recovery codes that are left, and totp_wrong counts wrong codes since totp_wrong_since. subject is
-- who the person is at an identity provider, empty for others.
CREATE TABLE posthouse_people (
  name varchar(64) NOT NULL,
  title varchar(255) NOT NULL DEFAULT '',
  password varchar(255) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
  disabled bigint NOT NULL DEFAULT 0,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  seen_at bigint NOT NULL DEFAULT 0,
  totp varchar(512) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
  totp_since bigint NOT NULL DEFAULT 0,
  totp_step bigint NOT NULL DEFAULT 0,
  totp_spare varchar(2000) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
  totp_wrong bigint NOT NULL DEFAULT 0,
  totp_wrong_since bigint NOT NULL DEFAULT 0,
  subject varchar(512) NOT NULL DEFAULT '',
  PRIMARY KEY (name)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin COMMENT='posthouse';

-- The role that a person has in a tenant.
CREATE TABLE posthouse_person_roles (
  tenant varchar(128) NOT NULL,
  person varchar(64) NOT NULL,
  role varchar(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  PRIMARY KEY (tenant, person),
  KEY posthouse_person_roles_person (person)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin COMMENT='posthouse';

-- What lets a person in: a link, once, and a session for as long as it is used; a half one still wants a one-time code. mark is the hash of what the person shows.
CREATE TABLE posthouse_passes (
  mark varchar(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  kind varchar(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  person varchar(64) NOT NULL,
  source varchar(128) NOT NULL DEFAULT '',
  created_at bigint NOT NULL,
  seen_at bigint NOT NULL,
  ends_at bigint NOT NULL,
  PRIMARY KEY (mark),
  KEY posthouse_passes_person (person),
  KEY posthouse_passes_ends (ends_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin COMMENT='posthouse';

-- What providers have told of what is not recorded yet: it is looked at again for a while.
CREATE TABLE posthouse_heard (
  id varchar(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  tenant varchar(128) NOT NULL,
  channel varchar(128) NOT NULL,
  ref varchar(512) NOT NULL,
  address varchar(512) NOT NULL DEFAULT '',
  delivered int NOT NULL DEFAULT 0,
  code varchar(255) NOT NULL DEFAULT '',
  error mediumtext NOT NULL DEFAULT (''),
  until_at bigint NOT NULL,
  PRIMARY KEY (id),
  KEY posthouse_heard_until (until_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin COMMENT='posthouse';

-- Who is told of what happens, at which address: doc is what was set up, as JSON; secrets are sealed. pos and place say how far it
-- has come in the feed.
CREATE TABLE posthouse_subscriptions (
  id varchar(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  tenant varchar(128) NOT NULL,
  doc mediumtext NOT NULL DEFAULT (''),
  secrets mediumtext NOT NULL DEFAULT (''),
  state varchar(128) NOT NULL,
  reason varchar(128) NOT NULL DEFAULT '',
  pos bigint NOT NULL DEFAULT 0,
  place int NOT NULL DEFAULT 0,
  failures int NOT NULL DEFAULT 0,
  next_at bigint NOT NULL DEFAULT 0,
  last_error mediumtext NOT NULL DEFAULT (''),
  told_at bigint NOT NULL DEFAULT 0,
  told bigint NOT NULL DEFAULT 0,
  dead bigint NOT NULL DEFAULT 0,
  lease_owner varchar(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
  lease_until bigint NOT NULL DEFAULT 0,
  version bigint NOT NULL DEFAULT 1,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  PRIMARY KEY (id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin COMMENT='posthouse';

-- What a subscriber did not take at the end of its ladder of retries.
CREATE TABLE posthouse_dead_letters (
  subscription varchar(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  pos bigint NOT NULL,
  place int NOT NULL,
  tenant varchar(128) NOT NULL,
  at bigint NOT NULL,
  tries int NOT NULL,
  error mediumtext NOT NULL DEFAULT (''),
  PRIMARY KEY (subscription, pos, place)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin COMMENT='posthouse';

-- Every delivery, for readers of the database.
CREATE VIEW posthouse_deliveries AS
SELECT id, tenant, channel, account, pin, priority, user_id, address, recipient_type, state, reason, last_error, version, token, attempts, tries, claim_losses, idem_key, on_unknown, provider_ref, unconfirmed, cancel_requested, replay_of, notification, epoch, created_at, updated_at, due_at, not_before, deadline, started_at, first_start_at, lease_until, lease_owner FROM posthouse_queue
UNION ALL
SELECT id, tenant, channel, account, pin, priority, user_id, address, recipient_type, state, reason, last_error, version, token, attempts, tries, claim_losses, idem_key, on_unknown, provider_ref, unconfirmed, cancel_requested, replay_of, notification, epoch, created_at, updated_at, due_at, not_before, deadline, started_at, first_start_at, lease_until, lease_owner FROM posthouse_settled
UNION ALL
SELECT q.id, m.tenant, m.channel, m.account, '', m.priority, m.user_id, m.address, m.recipient_type, 'pending', '', '', 1, 0, 0, 0, 0, CASE WHEN m.idem_key = '' THEN q.id ELSE m.idem_key END, m.policy, '', 0, 0, '', '', m.epoch, m.created_at, m.created_at, q.due_at, m.not_before, 0, 0, 0, 0, ''
FROM posthouse_due q JOIN posthouse_messages m ON m.id = CONVERT(CONCAT(substr(q.id, 1, 22), '0000') USING ascii) COLLATE ascii_bin AND m.sole = 1
UNION ALL
SELECT j.value, m.tenant, m.channel, CASE WHEN f.accounts = '' THEN m.account ELSE JSON_UNQUOTE(JSON_EXTRACT(f.accounts, CONCAT('$[', j.place - 1, ']'))) END, '', m.priority, m.user_id, m.address, m.recipient_type, 'sending', '', '', 2, 1, 1, 0, 0, CASE WHEN m.idem_key = '' THEN j.value ELSE m.idem_key END, m.policy, '', 0, 0, '', '', f.epoch, m.created_at, f.started_at, m.due_at, m.not_before, 0, f.started_at, f.started_at, f.lease_until, f.owner
FROM posthouse_flights f, JSON_TABLE(f.ids, '$[*]' COLUMNS (place FOR ORDINALITY, value varchar(26) CHARACTER SET ascii COLLATE ascii_bin PATH '$')) j JOIN posthouse_messages m ON m.id = CONVERT(CONCAT(substr(j.value, 1, 22), '0000') USING ascii) COLLATE ascii_bin AND m.sole = 1
WHERE NOT EXISTS (SELECT 1 FROM posthouse_sent s WHERE s.id = j.value)
UNION ALL
SELECT s.id, m.tenant, m.channel, s.account, '', m.priority, m.user_id, m.address, m.recipient_type, 'sent', '', '', 3, 1, 1, 0, 0, CASE WHEN m.idem_key = '' THEN s.id ELSE m.idem_key END, m.policy, s.ref, 0, 0, '', '', s.epoch, m.created_at, s.at, m.due_at, m.not_before, 0, 0, s.started_at, 0, ''
FROM posthouse_sent s JOIN posthouse_messages m ON m.id = CONVERT(CONCAT(substr(s.id, 1, 22), '0000') USING ascii) COLLATE ascii_bin AND m.sole = 1;

-- All that happened to every delivery, for readers of the database. The first lines of a clean delivery follow from its rows.
CREATE VIEW posthouse_events AS
SELECT delivery, version, tenant, at, type, from_state, to_state, token, attempt, owner, lease_until, due_at, reason, epoch, account, tries, class, code, error, ref, request, response FROM posthouse_transitions
UNION ALL
SELECT CONVERT(CONCAT(substr(m.id, 1, 22), '0001') USING ascii) COLLATE ascii_bin, 1, m.tenant, m.created_at, 'accept', '', 'pending', 0, 0, '', 0, m.due_at, '', m.epoch, m.account, 0, '', '', '', '', '', ''
FROM posthouse_messages m WHERE m.sole = 1
UNION ALL
SELECT j.value, 2, m.tenant, f.started_at, 'start', 'pending', 'sending', 1, 1, f.owner, f.lease_until, m.due_at, '', f.epoch, CASE WHEN f.accounts = '' THEN m.account ELSE JSON_UNQUOTE(JSON_EXTRACT(f.accounts, CONCAT('$[', j.place - 1, ']'))) END, 0, '', '', '', '', '', ''
FROM posthouse_flights f, JSON_TABLE(f.ids, '$[*]' COLUMNS (place FOR ORDINALITY, value varchar(26) CHARACTER SET ascii COLLATE ascii_bin PATH '$')) j JOIN posthouse_messages m ON m.id = CONVERT(CONCAT(substr(j.value, 1, 22), '0000') USING ascii) COLLATE ascii_bin AND m.sole = 1
WHERE NOT EXISTS (SELECT 1 FROM posthouse_sent s WHERE s.id = j.value)
UNION ALL
SELECT s.id, 2, s.tenant, s.started_at, 'start', 'pending', 'sending', 1, 1, s.owner, s.lease_until, m.due_at, '', s.epoch, s.account, 0, '', '', '', '', '', ''
FROM posthouse_sent s JOIN posthouse_messages m ON m.id = CONVERT(CONCAT(substr(s.id, 1, 22), '0000') USING ascii) COLLATE ascii_bin AND m.sole = 1
UNION ALL
SELECT s.id, 3, s.tenant, s.at, 'sent', 'sending', 'sent', 1, 1, s.owner, 0, 0, '', s.epoch, s.account, 0, s.class, s.code, '', s.ref, s.request, s.response
FROM posthouse_sent s JOIN posthouse_messages m ON m.id = CONVERT(CONCAT(substr(s.id, 1, 22), '0000') USING ascii) COLLATE ascii_bin AND m.sole = 1;

-- +goose Down
DROP VIEW posthouse_events;
DROP VIEW posthouse_deliveries;
DROP TABLE posthouse_segments;
DROP TABLE posthouse_member_refs;
DROP TABLE posthouse_campaigns;
DROP TABLE posthouse_audience_blocks;
DROP TABLE posthouse_audiences;
DROP TABLE posthouse_dead_letters;
DROP TABLE posthouse_subscriptions;
DROP TABLE posthouse_callback_events;
DROP TABLE posthouse_feed_inbox;
DROP TABLE posthouse_feed;
DROP TABLE posthouse_default_sms;
DROP TABLE posthouse_sms_texts;
DROP TABLE posthouse_sealed;
DROP TABLE posthouse_tallies;
DROP TABLE posthouse_report_log;
DROP TABLE posthouse_send_log;
DROP TABLE posthouse_receive_log;
DROP TABLE posthouse_agent_claims;
DROP TABLE posthouse_agents;
DROP TABLE posthouse_job_numbers;
DROP TABLE posthouse_notify_marks;
DROP TABLE posthouse_tokens;
DROP TABLE posthouse_media_parts;
DROP TABLE posthouse_media;
DROP TABLE posthouse_heard;
DROP TABLE posthouse_passes;
DROP TABLE posthouse_person_roles;
DROP TABLE posthouse_people;
DROP TABLE posthouse_front_calls;
DROP TABLE posthouse_fronts;
DROP TABLE posthouse_callbacks;
DROP TABLE posthouse_suppressions;
DROP TABLE posthouse_awaited;
DROP TABLE posthouse_user_words;
DROP TABLE posthouse_user_roles;
DROP TABLE posthouse_plans;
DROP TABLE posthouse_limits;
DROP TABLE posthouse_checkpoints;
DROP TABLE posthouse_audit;
DROP TABLE posthouse_lines;
DROP TABLE posthouse_charges;
DROP TABLE posthouse_tenants;
DROP TABLE posthouse_api_keys;
DROP TABLE posthouse_users;
DROP TABLE posthouse_roster_entries;
DROP TABLE posthouse_roster_days;
DROP TABLE posthouse_rosters;
DROP TABLE posthouse_presets;
DROP TABLE posthouse_routes;
DROP TABLE posthouse_templates;
DROP TABLE posthouse_processes;
DROP TABLE posthouse_rates;
DROP TABLE posthouse_pulse;
DROP TABLE posthouse_totals;
DROP TABLE posthouse_hours;
DROP TABLE posthouse_minutes;
DROP TABLE posthouse_gates;
DROP TABLE posthouse_accounts;
DROP TABLE posthouse_channels;
DROP TABLE posthouse_outbox;
DROP TABLE posthouse_dedup;
DROP TABLE posthouse_idempotency;
DROP TABLE posthouse_late;
DROP TABLE posthouse_transitions;
DROP TABLE posthouse_settled;
DROP TABLE posthouse_queue;
DROP TABLE posthouse_sent;
DROP TABLE posthouse_flights;
DROP TABLE posthouse_due;
DROP TABLE posthouse_messages;
DROP TABLE posthouse_meta;
