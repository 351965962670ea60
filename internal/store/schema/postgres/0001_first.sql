-- +goose Up
-- What there is once: the epoch, and when this database was made.
CREATE TABLE posthouse_meta (
  name text COLLATE "C" NOT NULL,
  value text NOT NULL DEFAULT '',
  PRIMARY KEY (name)
);

-- A message never changes after it was accepted. One to a single recipient carries its delivery, from user_id on, and sole is
-- 1 while that is clean: waiting for its first attempt (posthouse_due), in it (posthouse_flights) or sent by it
-- (posthouse_sent). What takes another course becomes a row of posthouse_queue or posthouse_settled.
CREATE TABLE posthouse_messages (
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
  options text NOT NULL DEFAULT '',
  user_id text COLLATE "C" NOT NULL DEFAULT '',
  address text COLLATE "C" NOT NULL DEFAULT '',
  recipient_type text COLLATE "C" NOT NULL DEFAULT '',
  account text COLLATE "C" NOT NULL DEFAULT '',
  idem_key text COLLATE "C" NOT NULL DEFAULT '',
  policy text COLLATE "C" NOT NULL DEFAULT '',
  epoch bigint NOT NULL DEFAULT 0,
  due_at bigint NOT NULL DEFAULT 0,
  sole smallint NOT NULL DEFAULT 0,
  PRIMARY KEY (id)
) PARTITION BY RANGE (id);
CREATE TABLE posthouse_messages_rest PARTITION OF posthouse_messages DEFAULT;
CREATE INDEX posthouse_messages_ref ON posthouse_messages (tenant, kind, ref, id) WHERE ref <> '';
CREATE INDEX posthouse_messages_user ON posthouse_messages (tenant, user_id, id) WHERE user_id <> '';

-- The clean deliveries that wait for their first attempt: the key is the row.
CREATE TABLE posthouse_due (
  tenant text COLLATE "C" NOT NULL,
  channel text COLLATE "C" NOT NULL,
  priority smallint NOT NULL,
  due_at bigint NOT NULL,
  id text COLLATE "C" NOT NULL,
  PRIMARY KEY (tenant, channel, priority, due_at, id)
);

-- The clean deliveries in their first attempt, a row a claim: ids is a JSON array and accounts
-- the accounts of these by their places (none where the channel has one without a name), gone names those that took another course.
CREATE TABLE posthouse_flights (
  id text COLLATE "C" NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  channel text COLLATE "C" NOT NULL,
  priority smallint NOT NULL,
  accounts text NOT NULL DEFAULT '',
  owner text COLLATE "C" NOT NULL,
  epoch bigint NOT NULL,
  started_at bigint NOT NULL,
  lease_until bigint NOT NULL,
  ids text NOT NULL,
  gone text NOT NULL DEFAULT '',
  PRIMARY KEY (id)
);
CREATE INDEX posthouse_flights_lease ON posthouse_flights (lease_until);

-- The clean deliveries that were sent by their first attempt, with the history of that.
CREATE TABLE posthouse_sent (
  id text COLLATE "C" NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  channel text COLLATE "C" NOT NULL,
  at bigint NOT NULL,
  started_at bigint NOT NULL,
  lease_until bigint NOT NULL,
  owner text COLLATE "C" NOT NULL,
  epoch bigint NOT NULL,
  account text COLLATE "C" NOT NULL DEFAULT '',
  class text COLLATE "C" NOT NULL DEFAULT '',
  code text COLLATE "C" NOT NULL DEFAULT '',
  ref text COLLATE "C" NOT NULL DEFAULT '',
  request text NOT NULL DEFAULT '',
  response text NOT NULL DEFAULT '',
  PRIMARY KEY (id)
) PARTITION BY RANGE (id);
CREATE TABLE posthouse_sent_rest PARTITION OF posthouse_sent DEFAULT;

-- The open deliveries: narrow rows that move fast and leave when they settle.
CREATE TABLE posthouse_queue (
  id text COLLATE "C" NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  channel text COLLATE "C" NOT NULL,
  account text COLLATE "C" NOT NULL DEFAULT '',
  pin text COLLATE "C" NOT NULL DEFAULT '',
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
  notification text COLLATE "C" NOT NULL DEFAULT '',
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
CREATE INDEX posthouse_queue_due ON posthouse_queue (tenant, channel, priority, pin, due_at, id) WHERE state = 'pending';
CREATE INDEX posthouse_queue_lease ON posthouse_queue (lease_until) WHERE state = 'sending';
CREATE INDEX posthouse_queue_unknown ON posthouse_queue (due_at) WHERE state = 'unknown' AND due_at > 0;
CREATE INDEX posthouse_queue_deadline ON posthouse_queue (deadline) WHERE deadline > 0;
CREATE INDEX posthouse_queue_stuck ON posthouse_queue (tenant, state, id) WHERE state IN ('unknown', 'quarantined');
CREATE INDEX posthouse_queue_user ON posthouse_queue (tenant, user_id, id) WHERE user_id <> '';

-- The settled deliveries, in the columns of the queue.
CREATE TABLE posthouse_settled (
  id text COLLATE "C" NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  channel text COLLATE "C" NOT NULL,
  account text COLLATE "C" NOT NULL DEFAULT '',
  pin text COLLATE "C" NOT NULL DEFAULT '',
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
  notification text COLLATE "C" NOT NULL DEFAULT '',
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
) PARTITION BY RANGE (id);
CREATE TABLE posthouse_settled_rest PARTITION OF posthouse_settled DEFAULT;
CREATE INDEX posthouse_settled_user ON posthouse_settled (tenant, user_id, id) WHERE user_id <> '';
CREATE INDEX posthouse_settled_trouble ON posthouse_settled (tenant, state, id, channel, reason) WHERE state IN ('failed', 'undelivered', 'expired', 'suppressed', 'cancelled');

-- The event log: one row for each transition, in the transaction that made it.
CREATE TABLE posthouse_transitions (
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
) PARTITION BY RANGE (delivery);
CREATE TABLE posthouse_transitions_rest PARTITION OF posthouse_transitions DEFAULT;

-- The deliveries that were settled long after they were accepted: they stay when the partition of their time is dropped.
CREATE TABLE posthouse_late (
  id text COLLATE "C" NOT NULL,
  at bigint NOT NULL,
  PRIMARY KEY (id)
);
CREATE INDEX posthouse_late_age ON posthouse_late (at);

-- What a caller's Idempotency-Key stands for.
CREATE TABLE posthouse_idempotency (
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
CREATE INDEX posthouse_idempotency_expiry ON posthouse_idempotency (expires_at);
CREATE INDEX posthouse_idempotency_owner ON posthouse_idempotency (owner);

-- Which message a dedup_key stands for, until its window closes.
CREATE TABLE posthouse_dedup (
  tenant text COLLATE "C" NOT NULL,
  channel text COLLATE "C" NOT NULL,
  dedup_key text COLLATE "C" NOT NULL,
  message_id text COLLATE "C" NOT NULL,
  created_at bigint NOT NULL,
  expires_at bigint NOT NULL,
  PRIMARY KEY (tenant, channel, dedup_key)
);
CREATE INDEX posthouse_dedup_expiry ON posthouse_dedup (expires_at);

-- Messages that callers hand in within their own transactions; the relay moves them on.
-- A plain INSERT needs the draft alone. seq keeps the order of rows that were written at one moment.
CREATE TABLE posthouse_outbox (
  seq bigint GENERATED ALWAYS AS IDENTITY,
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
CREATE INDEX posthouse_outbox_due ON posthouse_outbox (due_at, created_at, seq);

-- The configured channels; secrets in config are sealed. fleet rises with every change of its accounts.
CREATE TABLE posthouse_channels (
  tenant text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  driver text COLLATE "C" NOT NULL,
  config text NOT NULL DEFAULT '',
  settings text NOT NULL DEFAULT '',
  paused smallint NOT NULL DEFAULT 0,
  pause_reason text COLLATE "C" NOT NULL DEFAULT '',
  paused_until bigint NOT NULL DEFAULT 0,
  version bigint NOT NULL DEFAULT 1,
  fleet bigint NOT NULL DEFAULT 0,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  PRIMARY KEY (tenant, name)
);

-- The accounts that a channel sends by, where it has several; secrets in config are sealed.
CREATE TABLE posthouse_accounts (
  tenant text COLLATE "C" NOT NULL,
  channel text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  config text NOT NULL DEFAULT '',
  settings text NOT NULL DEFAULT '',
  paused smallint NOT NULL DEFAULT 0,
  pause_reason text COLLATE "C" NOT NULL DEFAULT '',
  paused_until bigint NOT NULL DEFAULT 0,
  version bigint NOT NULL DEFAULT 1,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  PRIMARY KEY (tenant, channel, name)
);

-- Accounts that a provider refused: parked until a time, then probed.
CREATE TABLE posthouse_gates (
  tenant text COLLATE "C" NOT NULL,
  channel text COLLATE "C" NOT NULL,
  account text COLLATE "C" NOT NULL,
  until_at bigint NOT NULL DEFAULT 0,
  class text COLLATE "C" NOT NULL,
  code text COLLATE "C" NOT NULL DEFAULT '',
  error text NOT NULL DEFAULT '',
  refusals integer NOT NULL DEFAULT 0,
  learned bigint NOT NULL DEFAULT 0,
  updated_at bigint NOT NULL,
  PRIMARY KEY (tenant, channel, account)
);

-- How the attempts of each minute ended: n of them, ms of calls together. minute counts from 1970. Statistics, written about once a
-- second; what a process had counted when it was killed is missing. After 90 days the minutes of an hour become a row of posthouse_hours.
CREATE TABLE posthouse_minutes (
  minute bigint NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  channel text COLLATE "C" NOT NULL,
  account text COLLATE "C" NOT NULL,
  type text COLLATE "C" NOT NULL,
  outcome text COLLATE "C" NOT NULL,
  n bigint NOT NULL,
  ms bigint NOT NULL,
  PRIMARY KEY (minute, tenant, channel, account, type, outcome)
);

-- The same by the hour, of what is older.
CREATE TABLE posthouse_hours (
  hour bigint NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  channel text COLLATE "C" NOT NULL,
  account text COLLATE "C" NOT NULL,
  type text COLLATE "C" NOT NULL,
  outcome text COLLATE "C" NOT NULL,
  n bigint NOT NULL,
  ms bigint NOT NULL,
  PRIMARY KEY (hour, tenant, channel, account, type, outcome)
);

-- The counts of minutes without what tells accounts and contents apart: what charts of minutes are drawn from. Kept for a day.
CREATE TABLE posthouse_pulse (
  minute bigint NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  channel text COLLATE "C" NOT NULL,
  outcome text COLLATE "C" NOT NULL,
  n bigint NOT NULL,
  PRIMARY KEY (minute, tenant, channel, outcome)
);

-- The same by the hour, without what tells accounts and contents apart: what charts of days and months are drawn from. One row a key and hour
-- however large a fleet is, written with the minutes, for as long as the database.
CREATE TABLE posthouse_totals (
  tenant text COLLATE "C" NOT NULL,
  hour bigint NOT NULL,
  channel text COLLATE "C" NOT NULL,
  outcome text COLLATE "C" NOT NULL,
  n bigint NOT NULL,
  PRIMARY KEY (tenant, hour, channel, outcome)
);

-- How fast accounts could go, once a minute for those that had called: the rate in millionths of a call a second, and what it was made of,
-- in millionths. A row for each process that sent by the account. minute counts from 1970. Kept for a day.
CREATE TABLE posthouse_rates (
  tenant text COLLATE "C" NOT NULL,
  channel text COLLATE "C" NOT NULL,
  account text COLLATE "C" NOT NULL,
  minute bigint NOT NULL,
  process bigint NOT NULL,
  rate bigint NOT NULL,
  base bigint NOT NULL,
  by_health bigint NOT NULL,
  by_success bigint NOT NULL,
  by_load bigint NOT NULL,
  by_time bigint NOT NULL,
  reason text COLLATE "C" NOT NULL,
  PRIMARY KEY (tenant, channel, account, minute, process)
);
CREATE INDEX posthouse_rates_minute ON posthouse_rates (minute);

-- The processes that work on this database, or did in the last day: each says every few seconds that it is there, and takes its row away when it
-- stops. id is the owner of its leases, schema_version the newest that it knows, keyring a fingerprint of its keys, key_id the newest of them.
CREATE TABLE posthouse_processes (
  id text COLLATE "C" NOT NULL PRIMARY KEY,
  host text COLLATE "C" NOT NULL,
  version text COLLATE "C" NOT NULL,
  schema_version bigint NOT NULL,
  epoch bigint NOT NULL,
  key_id text COLLATE "C" NOT NULL,
  keyring text COLLATE "C" NOT NULL,
  accept_only smallint NOT NULL,
  untrusted smallint NOT NULL,
  started_at bigint NOT NULL,
  seen_at bigint NOT NULL
);

-- What an installation knows of providers besides what ships: the files as they were added.
CREATE TABLE posthouse_presets (
  tenant text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  version integer NOT NULL,
  body text NOT NULL,
  shapes text NOT NULL,
  updated_at bigint NOT NULL,
  PRIMARY KEY (tenant, name)
);

-- Every version of every template.
CREATE TABLE posthouse_templates (
  tenant text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  version integer NOT NULL,
  title text NOT NULL DEFAULT '',
  body text NOT NULL DEFAULT '',
  lenient smallint NOT NULL DEFAULT 0,
  created_at bigint NOT NULL,
  external_id text COLLATE "C" NOT NULL DEFAULT '',
  parameters text NOT NULL DEFAULT '',
  disabled smallint NOT NULL DEFAULT 0,
  PRIMARY KEY (tenant, name, version)
);

-- Every version of every route: doc is its steps and how they follow one another, as JSON.
CREATE TABLE posthouse_routes (
  tenant text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  version integer NOT NULL,
  doc text NOT NULL,
  created_at bigint NOT NULL,
  PRIMARY KEY (tenant, name, version)
);

-- Who is on duty: the roster itself.
CREATE TABLE posthouse_rosters (
  tenant text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  hand_over text COLLATE "C" NOT NULL DEFAULT '',
  time_zone text COLLATE "C" NOT NULL DEFAULT '',
  updated_at bigint NOT NULL,
  PRIMARY KEY (tenant, name)
);

-- Days a roster knows; an override with nobody on duty is a day without entries.
CREATE TABLE posthouse_roster_days (
  tenant text COLLATE "C" NOT NULL,
  roster text COLLATE "C" NOT NULL,
  day text COLLATE "C" NOT NULL,
  PRIMARY KEY (tenant, roster, day)
);

-- Who is on duty on a day: 1 to 7 (Monday = 1), or a date.
CREATE TABLE posthouse_roster_entries (
  tenant text COLLATE "C" NOT NULL,
  roster text COLLATE "C" NOT NULL,
  day text COLLATE "C" NOT NULL,
  user_id text COLLATE "C" NOT NULL,
  position integer NOT NULL DEFAULT 0,
  PRIMARY KEY (tenant, roster, day, user_id)
);

-- The directory.
CREATE TABLE posthouse_users (
  tenant text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL DEFAULT '',
  type text COLLATE "C" NOT NULL DEFAULT '',
  addresses text NOT NULL DEFAULT '',
  updated_at bigint NOT NULL,
  PRIMARY KEY (tenant, id)
);

-- Keys of the API; only a hash of the secret is kept.
CREATE TABLE posthouse_api_keys (
  id text COLLATE "C" NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  scope text COLLATE "C" NOT NULL,
  hash text COLLATE "C" NOT NULL,
  created_at bigint NOT NULL,
  revoked_at bigint NOT NULL DEFAULT 0,
  agent text COLLATE "C" NOT NULL DEFAULT '',
  note text COLLATE "C" NOT NULL DEFAULT '',
  expires_at bigint NOT NULL DEFAULT 0,
  last_used_at bigint NOT NULL DEFAULT 0,
  limits text COLLATE "C" NOT NULL DEFAULT '',
  PRIMARY KEY (id)
);

-- What people have said of a tenant. One that has things and no row is one too. quota is JSON, empty for none.
CREATE TABLE posthouse_tenants (
  name text COLLATE "C" NOT NULL,
  note text COLLATE "C" NOT NULL DEFAULT '',
  quota text COLLATE "C" NOT NULL DEFAULT '',
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  PRIMARY KEY (name)
);

-- The messages that count against a key's quota of open deliveries: of keys that have one, until the count finds them settled.
CREATE TABLE posthouse_charges (
  key_id text COLLATE "C" NOT NULL,
  message text COLLATE "C" NOT NULL,
  PRIMARY KEY (key_id, message)
);

-- The lines of ordering keys in which something stands: which message was admitted last, and when to look who is next.
CREATE TABLE posthouse_lines (
  tenant text COLLATE "C" NOT NULL,
  channel text COLLATE "C" NOT NULL,
  line text COLLATE "C" NOT NULL,
  holder text COLLATE "C" NOT NULL DEFAULT '',
  since bigint NOT NULL DEFAULT 0,
  look_at bigint NOT NULL,
  PRIMARY KEY (tenant, channel, line)
);
CREATE INDEX posthouse_lines_look ON posthouse_lines (look_at);
CREATE INDEX posthouse_lines_holder ON posthouse_lines (holder);

-- Who changed what, of configuration, keys and deliveries. Rows are only added; they go when their time is over.
CREATE TABLE posthouse_audit (
  id text COLLATE "C" NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  at bigint NOT NULL,
  key_id text COLLATE "C" NOT NULL DEFAULT '',
  key_name text COLLATE "C" NOT NULL DEFAULT '',
  source text COLLATE "C" NOT NULL DEFAULT '',
  action text COLLATE "C" NOT NULL,
  target text COLLATE "C" NOT NULL DEFAULT '',
  note text COLLATE "C" NOT NULL DEFAULT '',
  affected bigint NOT NULL DEFAULT 0,
  detail text COLLATE "C" NOT NULL DEFAULT '',
  keep_until bigint NOT NULL,
  PRIMARY KEY (id)
);
CREATE INDEX posthouse_audit_tenant ON posthouse_audit (tenant, id);
CREATE INDEX posthouse_audit_age ON posthouse_audit (keep_until);

-- The hash chain over what is stored, where it is switched on: a row a link.
CREATE TABLE posthouse_checkpoints (
  seq bigint NOT NULL,
  at bigint NOT NULL,
  pass integer NOT NULL,
  low_id text COLLATE "C" NOT NULL DEFAULT '',
  high_id text COLLATE "C" NOT NULL DEFAULT '',
  keep bigint NOT NULL,
  messages integer NOT NULL,
  body_hash text COLLATE "C" NOT NULL,
  prev text COLLATE "C" NOT NULL DEFAULT '',
  hash text COLLATE "C" NOT NULL,
  body text COLLATE "C" NOT NULL DEFAULT '',
  PRIMARY KEY (seq)
);

-- Shared limits: the state of all windows of one key.
CREATE TABLE posthouse_limits (
  name text COLLATE "C" NOT NULL,
  state text NOT NULL DEFAULT '',
  updated_at bigint NOT NULL,
  PRIMARY KEY (name)
);

INSERT INTO posthouse_meta (name, value) VALUES ('epoch', '1'), ('feed', '');

-- What is to be done at a time, and what is known so far: reminders, and the tasks of workflows. next_at 0 is never.
CREATE TABLE posthouse_plans (
  tenant text COLLATE "C" NOT NULL,
  type text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL DEFAULT '',
  ref text COLLATE "C" NOT NULL DEFAULT '',
  state text COLLATE "C" NOT NULL DEFAULT '',
  doc text NOT NULL DEFAULT '',
  version bigint NOT NULL DEFAULT 1,
  next_at bigint NOT NULL DEFAULT 0,
  failures integer NOT NULL DEFAULT 0,
  error text NOT NULL DEFAULT '',
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  PRIMARY KEY (tenant, type, id)
);
CREATE INDEX posthouse_plans_due ON posthouse_plans (next_at, id) WHERE next_at > 0;
CREATE INDEX posthouse_plans_ref ON posthouse_plans (tenant, type, kind, ref, id) WHERE ref <> '';
CREATE INDEX posthouse_plans_state ON posthouse_plans (tenant, type, state, id) WHERE state <> '';
CREATE INDEX posthouse_plans_over ON posthouse_plans (updated_at) WHERE next_at = 0;

-- Who has which role.
CREATE TABLE posthouse_user_roles (
  tenant text COLLATE "C" NOT NULL,
  role text COLLATE "C" NOT NULL,
  user_id text COLLATE "C" NOT NULL,
  PRIMARY KEY (tenant, role, user_id)
);
CREATE INDEX posthouse_user_roles_user ON posthouse_user_roles (tenant, user_id);

-- By which words users are found: lower-case parts of names, and addresses.
CREATE TABLE posthouse_user_words (
  tenant text COLLATE "C" NOT NULL,
  word text COLLATE "C" NOT NULL,
  user_id text COLLATE "C" NOT NULL,
  PRIMARY KEY (tenant, word, user_id)
);
CREATE INDEX posthouse_user_words_user ON posthouse_user_words (tenant, user_id);

-- Deliveries that were sent and whose receipts have to be asked for.
CREATE TABLE posthouse_awaited (
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
CREATE INDEX posthouse_awaited_due ON posthouse_awaited (due_at, delivery);
CREATE INDEX posthouse_awaited_ref ON posthouse_awaited (ref);

-- Access tokens of providers, sealed, shared by all processes; the holder is refreshing it.
CREATE TABLE posthouse_tokens (
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
CREATE TABLE posthouse_notify_marks (
  job text COLLATE "C" NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  status smallint NOT NULL DEFAULT -1,
  deleted smallint NOT NULL DEFAULT 0,
  update_by text COLLATE "C" NOT NULL DEFAULT '',
  updated_at bigint NOT NULL,
  PRIMARY KEY (tenant, job)
);
CREATE INDEX posthouse_notify_marks_age ON posthouse_notify_marks (updated_at);

-- The numbers that jobs of the compatibility face have, for callers whose ids are whole numbers.
CREATE TABLE posthouse_job_numbers (
  number bigint NOT NULL,
  job text COLLATE "C" NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  created_at bigint NOT NULL,
  PRIMARY KEY (tenant, number)
);
CREATE UNIQUE INDEX posthouse_job_numbers_job ON posthouse_job_numbers (tenant, job);
CREATE INDEX posthouse_job_numbers_age ON posthouse_job_numbers (created_at);

-- Phones and other programs that fetch deliveries. limits is JSON, or null for the usual ones.
CREATE TABLE posthouse_agents (
  tenant text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL DEFAULT '',
  channels text NOT NULL DEFAULT '',
  capabilities text NOT NULL DEFAULT '',
  limits text NOT NULL DEFAULT '',
  state text COLLATE "C" NOT NULL,
  reason text COLLATE "C" NOT NULL DEFAULT '',
  key_id text COLLATE "C" NOT NULL DEFAULT '',
  app text COLLATE "C" NOT NULL DEFAULT '',
  last_seen_at bigint NOT NULL DEFAULT 0,
  version bigint NOT NULL DEFAULT 1,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  PRIMARY KEY (tenant, id)
);

-- What an agent was handed by a claim that it may repeat: deliveries is JSON, ids with tokens.
CREATE TABLE posthouse_agent_claims (
  tenant text COLLATE "C" NOT NULL,
  agent text COLLATE "C" NOT NULL,
  claim_id text COLLATE "C" NOT NULL,
  deliveries text NOT NULL DEFAULT '',
  created_at bigint NOT NULL,
  expires_at bigint NOT NULL,
  PRIMARY KEY (tenant, agent, claim_id)
);
CREATE INDEX posthouse_agent_claims_expiry ON posthouse_agent_claims (expires_at);

-- The log of requests to send.
CREATE TABLE posthouse_receive_log (
  id text COLLATE "C" NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  at bigint NOT NULL,
  delivery text COLLATE "C" NOT NULL DEFAULT '',
  request_id text COLLATE "C" NOT NULL DEFAULT '',
  phone text COLLATE "C" NOT NULL DEFAULT '',
  content text NOT NULL DEFAULT '',
  templated smallint NOT NULL DEFAULT 0,
  source_ip text COLLATE "C" NOT NULL DEFAULT '',
  user_agent text NOT NULL DEFAULT '',
  request text NOT NULL DEFAULT '',
  response text NOT NULL DEFAULT '',
  status integer NOT NULL DEFAULT 0,
  PRIMARY KEY (id)
);
CREATE INDEX posthouse_receive_log_tenant ON posthouse_receive_log (tenant, at, id);
CREATE INDEX posthouse_receive_log_delivery ON posthouse_receive_log (delivery);
CREATE INDEX posthouse_receive_log_age ON posthouse_receive_log (at);

-- The log of hand-outs: who was handed a delivery with which token.
CREATE TABLE posthouse_send_log (
  delivery text COLLATE "C" NOT NULL,
  token bigint NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  at bigint NOT NULL,
  agent text COLLATE "C" NOT NULL,
  claim_id text COLLATE "C" NOT NULL DEFAULT '',
  request text NOT NULL DEFAULT '',
  PRIMARY KEY (delivery, token)
);
CREATE INDEX posthouse_send_log_tenant ON posthouse_send_log (tenant, at, delivery, token);
CREATE INDEX posthouse_send_log_age ON posthouse_send_log (at);

-- The log of reports. A report id is one agent's.
CREATE TABLE posthouse_report_log (
  id text COLLATE "C" NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  at bigint NOT NULL,
  delivery text COLLATE "C" NOT NULL,
  agent text COLLATE "C" NOT NULL,
  report_id text COLLATE "C" NOT NULL,
  token bigint NOT NULL DEFAULT 0,
  outcome text COLLATE "C" NOT NULL,
  code text COLLATE "C" NOT NULL DEFAULT '',
  error text NOT NULL DEFAULT '',
  retry smallint NOT NULL DEFAULT 0,
  ref text NOT NULL DEFAULT '',
  request text NOT NULL DEFAULT '',
  answer text COLLATE "C" NOT NULL,
  state text COLLATE "C" NOT NULL DEFAULT '',
  PRIMARY KEY (tenant, agent, report_id)
);
CREATE INDEX posthouse_report_log_tenant ON posthouse_report_log (tenant, at, id) WHERE at > 0;
CREATE INDEX posthouse_report_log_delivery ON posthouse_report_log (delivery, agent, id);
CREATE INDEX posthouse_report_log_age ON posthouse_report_log (at);

-- How many deliveries of a pulled channel there are of a kind: the sum over its slots, so that writers do not wait for each other.
CREATE TABLE posthouse_tallies (
  tenant text COLLATE "C" NOT NULL,
  channel text COLLATE "C" NOT NULL,
  bucket text COLLATE "C" NOT NULL,
  slot integer NOT NULL,
  n bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (tenant, channel, bucket, slot)
);

-- The contents of sensitive messages, encrypted, until they are forgotten.
CREATE TABLE posthouse_sealed (
  message text COLLATE "C" NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  body text NOT NULL,
  forget_at bigint NOT NULL,
  PRIMARY KEY (message)
);
CREATE INDEX posthouse_sealed_forget ON posthouse_sealed (forget_at);

-- The texts of the SMS front door. The document's own name for them, sms_templates, is that of a view.
CREATE TABLE posthouse_sms_texts (
  tenant text COLLATE "C" NOT NULL,
  id bigint NOT NULL,
  name text COLLATE "C" NOT NULL DEFAULT '',
  body text NOT NULL DEFAULT '',
  active smallint NOT NULL DEFAULT 1,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  PRIMARY KEY (tenant, id)
);

-- What a phone is sent where a request has no content. sent is set by an import alone: else the dedup key of the generation says it.
CREATE TABLE posthouse_default_sms (
  tenant text COLLATE "C" NOT NULL,
  phone text COLLATE "C" NOT NULL,
  body text NOT NULL DEFAULT '',
  templated smallint NOT NULL DEFAULT 0,
  generation bigint NOT NULL DEFAULT 1,
  sent smallint NOT NULL DEFAULT 0,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  PRIMARY KEY (tenant, phone)
);

-- Lists of people that campaigns are sent to, and how far their imports are. The name of one that belongs to a campaign alone is its id.
CREATE TABLE posthouse_audiences (
  id text COLLATE "C" NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  channel text COLLATE "C" NOT NULL DEFAULT '',
  state text COLLATE "C" NOT NULL,
  format text NOT NULL DEFAULT '',
  header text NOT NULL DEFAULT '',
  skipping integer NOT NULL DEFAULT 0,
  file_offset bigint NOT NULL DEFAULT 0,
  line bigint NOT NULL DEFAULT 1,
  digest text NOT NULL DEFAULT '',
  sha256 text NOT NULL DEFAULT '',
  last_seq bigint NOT NULL DEFAULT 0,
  members bigint NOT NULL DEFAULT 0,
  repeated bigint NOT NULL DEFAULT 0,
  refused bigint NOT NULL DEFAULT 0,
  fields text NOT NULL DEFAULT '',
  pages bigint NOT NULL DEFAULT 0,
  version bigint NOT NULL DEFAULT 1,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  PRIMARY KEY (tenant, name)
);
CREATE INDEX posthouse_audiences_id ON posthouse_audiences (id);

-- What an audience is made of: packed members by the number of the first, pages of the index, marks of who stands twice, and lines that
-- were refused; under the id of a campaign, marks of whom it leaves out. Rows of 1,000 members, so that ten million take ten thousand rows.
CREATE TABLE posthouse_audience_blocks (
  audience text COLLATE "C" NOT NULL,
  part text COLLATE "C" NOT NULL,
  first_seq bigint NOT NULL,
  n integer NOT NULL,
  bytes bytea NOT NULL,
  PRIMARY KEY (audience, part, first_seq)
);
-- What is packed already is not compressed again. A router before the server (Citus) refuses that: it is done without then.
-- +goose StatementBegin
DO $$ BEGIN
  ALTER TABLE posthouse_audience_blocks ALTER COLUMN bytes SET STORAGE EXTERNAL;
EXCEPTION WHEN feature_not_supported THEN
  RAISE NOTICE 'posthouse_audience_blocks.bytes keeps its storage: %', SQLERRM;
END $$;
-- +goose StatementEnd

-- A campaign sends one template to an audience. rules says, as JSON, how carefully, and marks what it has noted for them.
CREATE TABLE posthouse_campaigns (
  id text COLLATE "C" NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  channel text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL DEFAULT '',
  template text COLLATE "C" NOT NULL DEFAULT '',
  template_version integer NOT NULL DEFAULT 0,
  content text NOT NULL DEFAULT '',
  payload text NOT NULL DEFAULT '',
  list_name text COLLATE "C" NOT NULL DEFAULT '',
  audience text COLLATE "C" NOT NULL,
  priority integer NOT NULL DEFAULT 1,
  on_unknown text COLLATE "C" NOT NULL DEFAULT '',
  start_at bigint NOT NULL DEFAULT 0,
  deadline bigint NOT NULL DEFAULT 0,
  segment_size integer NOT NULL,
  state text COLLATE "C" NOT NULL,
  reason text NOT NULL DEFAULT '',
  planned bigint NOT NULL DEFAULT 0,
  last_seq bigint NOT NULL DEFAULT 0,
  version bigint NOT NULL DEFAULT 1,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  started_at bigint NOT NULL DEFAULT 0,
  rules text NOT NULL,
  marks text NOT NULL,
  finished_at bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (tenant, name)
);
CREATE INDEX posthouse_campaigns_id ON posthouse_campaigns (id);
CREATE INDEX posthouse_campaigns_audience ON posthouse_campaigns (audience);
CREATE INDEX posthouse_campaigns_state ON posthouse_campaigns (state, finished_at);

-- A range of an audience that one worker sends to at a time. status is 0 free, 1 claimed, 2 done, 3 partly done, 4 void; outcomes has half
-- a byte for each member, and the columns behind it count them.
-- due_at is from when on it may be claimed, pass how often its members were refused before, began_at when the first of them was started, and
-- doubted_at is set where they may have been reached before. reasons says, as JSON, why members failed or are unknown, and noted has a byte
-- for each: which of the reasons is its own. accounts are, as a list of JSON, those of the channel's by which members were sent to, and via has
-- two bytes for each: which was the last; both are empty where the channel has one account. receipts has a byte for each member of whom the provider has told: 1 for delivered, or
-- above 1 the place in told of why it was not; only receipts write them, and the counts heard_ of it.
CREATE TABLE posthouse_segments (
  id text COLLATE "C" NOT NULL,
  campaign text COLLATE "C" NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  first_seq bigint NOT NULL,
  last_seq bigint NOT NULL,
  status integer NOT NULL DEFAULT 0,
  reason text COLLATE "C" NOT NULL DEFAULT '',
  token bigint NOT NULL DEFAULT 0,
  owner text COLLATE "C" NOT NULL DEFAULT '',
  epoch bigint NOT NULL DEFAULT 0,
  lease_until bigint NOT NULL DEFAULT 0,
  outcomes bytea NOT NULL,
  unsent integer NOT NULL DEFAULT 0,
  started integer NOT NULL DEFAULT 0,
  sent integer NOT NULL DEFAULT 0,
  delivered integer NOT NULL DEFAULT 0,
  undelivered integer NOT NULL DEFAULT 0,
  failed integer NOT NULL DEFAULT 0,
  unknown integer NOT NULL DEFAULT 0,
  expired integer NOT NULL DEFAULT 0,
  suppressed integer NOT NULL DEFAULT 0,
  cancelled integer NOT NULL DEFAULT 0,
  handed_over integer NOT NULL DEFAULT 0,
  repeated integer NOT NULL DEFAULT 0,
  repaired_from text COLLATE "C" NOT NULL DEFAULT '',
  created_at bigint NOT NULL,
  finished_at bigint NOT NULL DEFAULT 0,
  due_at bigint NOT NULL DEFAULT 0,
  pass integer NOT NULL DEFAULT 0,
  began_at bigint NOT NULL DEFAULT 0,
  doubted_at bigint NOT NULL DEFAULT 0,
  reasons text NOT NULL,
  noted bytea,
  accounts text NOT NULL,
  via bytea,
  receipts bytea,
  told text,
  heard_delivered integer NOT NULL DEFAULT 0,
  heard_undelivered integer NOT NULL DEFAULT 0,
  PRIMARY KEY (id)
);
CREATE INDEX posthouse_segments_range ON posthouse_segments (campaign, first_seq);
CREATE INDEX posthouse_segments_status ON posthouse_segments (campaign, status, due_at, first_seq);
CREATE INDEX posthouse_segments_left ON posthouse_segments (status, lease_until);

-- What providers call the messages of members, packed: a receipt finds its member by it. page is -1 for what was just written, else a share of
-- the hashes; rows of one page are of different runs.
CREATE TABLE posthouse_member_refs (
  page bigint NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  channel text COLLATE "C" NOT NULL,
  run text COLLATE "C" NOT NULL,
  n integer NOT NULL,
  until_at bigint NOT NULL,
  bytes bytea NOT NULL,
  PRIMARY KEY (page, tenant, channel, run)
);
CREATE INDEX posthouse_member_refs_until ON posthouse_member_refs (until_at);

-- What happened to deliveries, in the order of positions: deliveries that reached a version in one transaction. ids is a JSON array.
CREATE TABLE posthouse_feed (
  pos bigint NOT NULL,
  version bigint NOT NULL,
  at bigint NOT NULL,
  ids text NOT NULL,
  PRIMARY KEY (pos)
);

-- The same before it has a position, where several processes write: a position given before the commit would let readers
-- pass by what commits later.
CREATE TABLE posthouse_feed_inbox (
  id text COLLATE "C" NOT NULL,
  version bigint NOT NULL,
  at bigint NOT NULL,
  ids text NOT NULL,
  PRIMARY KEY (id, version)
);

-- What providers have told by themselves that is no receipt, as JSON, for who follows the feed.
CREATE TABLE posthouse_callback_events (
  id text COLLATE "C" NOT NULL,
  at bigint NOT NULL,
  doc text NOT NULL,
  PRIMARY KEY (id)
);
CREATE INDEX posthouse_callback_events_at ON posthouse_callback_events (at);

-- Files that were handed in to be sent, and their bytes. Nobody sees one that is not complete.
CREATE TABLE posthouse_media (
  id text COLLATE "C" NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  name text NOT NULL,
  type text NOT NULL,
  size bigint NOT NULL,
  sum text COLLATE "C" NOT NULL,
  complete integer NOT NULL,
  created_at bigint NOT NULL,
  expires_at bigint NOT NULL,
  PRIMARY KEY (id)
);
CREATE INDEX posthouse_media_sum ON posthouse_media (tenant, sum);
CREATE INDEX posthouse_media_expires ON posthouse_media (expires_at);
CREATE TABLE posthouse_media_parts (
  media text COLLATE "C" NOT NULL,
  n integer NOT NULL,
  bytes bytea NOT NULL,
  PRIMARY KEY (media, n)
);
-- What is packed already is not compressed again. A router before the server (Citus) refuses that: it is done without then.
-- +goose StatementBegin
DO $$ BEGIN
  ALTER TABLE posthouse_media_parts ALTER COLUMN bytes SET STORAGE EXTERNAL;
EXCEPTION WHEN feature_not_supported THEN
  RAISE NOTICE 'posthouse_media_parts.bytes keeps its storage: %', SQLERRM;
END $$;
-- +goose StatementEnd

-- Addresses to which nothing is sent: in one channel, or in all where channel is empty. until_at is when that ends, 0 for never.
CREATE TABLE posthouse_suppressions (
  tenant text COLLATE "C" NOT NULL,
  address text COLLATE "C" NOT NULL,
  channel text COLLATE "C" NOT NULL DEFAULT '',
  reason text COLLATE "C" NOT NULL DEFAULT '',
  source text COLLATE "C" NOT NULL,
  until_at bigint NOT NULL DEFAULT 0,
  created_at bigint NOT NULL,
  PRIMARY KEY (tenant, address, channel)
);
CREATE INDEX posthouse_suppressions_until ON posthouse_suppressions (until_at) WHERE until_at > 0;

-- Where providers call us, and whose each address is.
CREATE TABLE posthouse_callbacks (
  address text COLLATE "C" NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  channel text COLLATE "C" NOT NULL,
  account text COLLATE "C" NOT NULL DEFAULT '',
  created_at bigint NOT NULL,
  PRIMARY KEY (address)
);
CREATE INDEX posthouse_callbacks_channel ON posthouse_callbacks (tenant, channel);

-- Fronts: addresses at which senders of other makers hand in messages, each in its own form. token is the hash of what a sender shows,
-- settings is a document, and last_at is when something came, 0 for never.
CREATE TABLE posthouse_fronts (
  tenant text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL,
  token text COLLATE "C" NOT NULL,
  settings text COLLATE "C" NOT NULL,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  last_at bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (tenant, name)
);
CREATE UNIQUE INDEX posthouse_fronts_token ON posthouse_fronts (token);

-- What came last at each front, and what it became. messages is a document, shown is the body with its values masked, and body
-- is all of it, sealed.
CREATE TABLE posthouse_front_calls (
  tenant text COLLATE "C" NOT NULL,
  front text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  at bigint NOT NULL,
  outcome text COLLATE "C" NOT NULL,
  reason text COLLATE "C" NOT NULL,
  messages text COLLATE "C" NOT NULL,
  size bigint NOT NULL,
  shown text COLLATE "C" NOT NULL,
  body text COLLATE "C" NOT NULL,
  PRIMARY KEY (tenant, front, id)
);

-- Who may use the console. password is a hash by argon2id, empty for none: then a link alone lets in. totp is the sealed secret
-- of one-time codes, empty for none; totp_step is the last step of time whose code was taken, totp_spare has the hashes of the
-- recovery codes that are left, and totp_wrong counts wrong codes since totp_wrong_since. subject is
-- who the person is at an identity provider, empty for others.
CREATE TABLE posthouse_people (
  name text COLLATE "C" NOT NULL,
  title text COLLATE "C" NOT NULL DEFAULT '',
  password text COLLATE "C" NOT NULL DEFAULT '',
  disabled bigint NOT NULL DEFAULT 0,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  seen_at bigint NOT NULL DEFAULT 0,
  totp text COLLATE "C" NOT NULL DEFAULT '',
  totp_since bigint NOT NULL DEFAULT 0,
  totp_step bigint NOT NULL DEFAULT 0,
  totp_spare text COLLATE "C" NOT NULL DEFAULT '',
  totp_wrong bigint NOT NULL DEFAULT 0,
  totp_wrong_since bigint NOT NULL DEFAULT 0,
  subject text COLLATE "C" NOT NULL DEFAULT '',
  PRIMARY KEY (name)
);

-- The role that a person has in a tenant.
CREATE TABLE posthouse_person_roles (
  tenant text COLLATE "C" NOT NULL,
  person text COLLATE "C" NOT NULL,
  role text COLLATE "C" NOT NULL,
  PRIMARY KEY (tenant, person)
);
CREATE INDEX posthouse_person_roles_person ON posthouse_person_roles (person);

-- What lets a person in: a link, once, and a session for as long as it is used; a half one still wants a one-time code. mark is the hash of what the person shows.
CREATE TABLE posthouse_passes (
  mark text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL,
  person text COLLATE "C" NOT NULL,
  source text COLLATE "C" NOT NULL DEFAULT '',
  created_at bigint NOT NULL,
  seen_at bigint NOT NULL,
  ends_at bigint NOT NULL,
  PRIMARY KEY (mark)
);
CREATE INDEX posthouse_passes_person ON posthouse_passes (person);
CREATE INDEX posthouse_passes_ends ON posthouse_passes (ends_at);

-- What providers have told of what is not recorded yet: it is looked at again for a while.
CREATE TABLE posthouse_heard (
  id text COLLATE "C" NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  channel text COLLATE "C" NOT NULL,
  ref text COLLATE "C" NOT NULL,
  address text COLLATE "C" NOT NULL DEFAULT '',
  delivered integer NOT NULL DEFAULT 0,
  code text COLLATE "C" NOT NULL DEFAULT '',
  error text NOT NULL DEFAULT '',
  until_at bigint NOT NULL,
  PRIMARY KEY (id)
);
CREATE INDEX posthouse_heard_until ON posthouse_heard (until_at);

-- Who is told of what happens, at which address: doc is what was set up, as JSON; secrets are sealed. pos and place say how far it
-- has come in the feed.
CREATE TABLE posthouse_subscriptions (
  id text COLLATE "C" NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  doc text NOT NULL DEFAULT '',
  secrets text NOT NULL DEFAULT '',
  state text COLLATE "C" NOT NULL,
  reason text COLLATE "C" NOT NULL DEFAULT '',
  pos bigint NOT NULL DEFAULT 0,
  place integer NOT NULL DEFAULT 0,
  failures integer NOT NULL DEFAULT 0,
  next_at bigint NOT NULL DEFAULT 0,
  last_error text NOT NULL DEFAULT '',
  told_at bigint NOT NULL DEFAULT 0,
  told bigint NOT NULL DEFAULT 0,
  dead bigint NOT NULL DEFAULT 0,
  lease_owner text COLLATE "C" NOT NULL DEFAULT '',
  lease_until bigint NOT NULL DEFAULT 0,
  version bigint NOT NULL DEFAULT 1,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  PRIMARY KEY (id)
);

-- What a subscriber did not take at the end of its ladder of retries.
CREATE TABLE posthouse_dead_letters (
  subscription text COLLATE "C" NOT NULL,
  pos bigint NOT NULL,
  place integer NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  at bigint NOT NULL,
  tries integer NOT NULL,
  error text NOT NULL DEFAULT '',
  PRIMARY KEY (subscription, pos, place)
);

-- Every delivery, for readers of the database.
CREATE VIEW posthouse_deliveries AS
SELECT id, tenant, channel, account, pin, priority, user_id, address, recipient_type, state, reason, last_error, version, token, attempts, tries, claim_losses, idem_key, on_unknown, provider_ref, unconfirmed, cancel_requested, replay_of, notification, epoch, created_at, updated_at, due_at, not_before, deadline, started_at, first_start_at, lease_until, lease_owner FROM posthouse_queue
UNION ALL
SELECT id, tenant, channel, account, pin, priority, user_id, address, recipient_type, state, reason, last_error, version, token, attempts, tries, claim_losses, idem_key, on_unknown, provider_ref, unconfirmed, cancel_requested, replay_of, notification, epoch, created_at, updated_at, due_at, not_before, deadline, started_at, first_start_at, lease_until, lease_owner FROM posthouse_settled
UNION ALL
SELECT q.id, m.tenant, m.channel, m.account, '', m.priority, m.user_id, m.address, m.recipient_type, 'pending', '', '', 1, 0, 0, 0, 0, CASE WHEN m.idem_key = '' THEN q.id ELSE m.idem_key END, m.policy, '', 0, 0, '', '', m.epoch, m.created_at, m.created_at, q.due_at, m.not_before, 0, 0, 0, 0, ''
FROM posthouse_due q JOIN posthouse_messages m ON m.id = substr(q.id, 1, 22) || '0000' AND m.sole = 1
UNION ALL
SELECT j.value COLLATE "C", m.tenant, m.channel, CASE WHEN f.accounts = '' THEN m.account ELSE f.accounts::json ->> (j.place::int - 1) END, '', m.priority, m.user_id, m.address, m.recipient_type, 'sending', '', '', 2, 1, 1, 0, 0, CASE WHEN m.idem_key = '' THEN j.value COLLATE "C" ELSE m.idem_key END, m.policy, '', 0, 0, '', '', f.epoch, m.created_at, f.started_at, m.due_at, m.not_before, 0, f.started_at, f.started_at, f.lease_until, f.owner
FROM posthouse_flights f CROSS JOIN LATERAL json_array_elements_text(f.ids::json) WITH ORDINALITY j(value, place) JOIN posthouse_messages m ON m.id = substr(j.value COLLATE "C", 1, 22) || '0000' AND m.sole = 1
WHERE NOT EXISTS (SELECT 1 FROM posthouse_sent s WHERE s.id = j.value COLLATE "C")
UNION ALL
SELECT s.id, m.tenant, m.channel, s.account, '', m.priority, m.user_id, m.address, m.recipient_type, 'sent', '', '', 3, 1, 1, 0, 0, CASE WHEN m.idem_key = '' THEN s.id ELSE m.idem_key END, m.policy, s.ref, 0, 0, '', '', s.epoch, m.created_at, s.at, m.due_at, m.not_before, 0, 0, s.started_at, 0, ''
FROM posthouse_sent s JOIN posthouse_messages m ON m.id = substr(s.id, 1, 22) || '0000' AND m.sole = 1;

-- All that happened to every delivery, for readers of the database. The first lines of a clean delivery follow from its rows.
CREATE VIEW posthouse_events AS
SELECT delivery, version, tenant, at, type, from_state, to_state, token, attempt, owner, lease_until, due_at, reason, epoch, account, tries, class, code, error, ref, request, response FROM posthouse_transitions
UNION ALL
SELECT substr(m.id, 1, 22) || '0001', 1, m.tenant, m.created_at, 'accept', '', 'pending', 0, 0, '', 0, m.due_at, '', m.epoch, m.account, 0, '', '', '', '', '', ''
FROM posthouse_messages m WHERE m.sole = 1
UNION ALL
SELECT j.value COLLATE "C", 2, m.tenant, f.started_at, 'start', 'pending', 'sending', 1, 1, f.owner, f.lease_until, m.due_at, '', f.epoch, CASE WHEN f.accounts = '' THEN m.account ELSE f.accounts::json ->> (j.place::int - 1) END, 0, '', '', '', '', '', ''
FROM posthouse_flights f CROSS JOIN LATERAL json_array_elements_text(f.ids::json) WITH ORDINALITY j(value, place) JOIN posthouse_messages m ON m.id = substr(j.value COLLATE "C", 1, 22) || '0000' AND m.sole = 1
WHERE NOT EXISTS (SELECT 1 FROM posthouse_sent s WHERE s.id = j.value COLLATE "C")
UNION ALL
SELECT s.id, 2, s.tenant, s.started_at, 'start', 'pending', 'sending', 1, 1, s.owner, s.lease_until, m.due_at, '', s.epoch, s.account, 0, '', '', '', '', '', ''
FROM posthouse_sent s JOIN posthouse_messages m ON m.id = substr(s.id, 1, 22) || '0000' AND m.sole = 1
UNION ALL
SELECT s.id, 3, s.tenant, s.at, 'sent', 'sending', 'sent', 1, 1, s.owner, 0, 0, '', s.epoch, s.account, 0, s.class, s.code, '', s.ref, s.request, s.response
FROM posthouse_sent s JOIN posthouse_messages m ON m.id = substr(s.id, 1, 22) || '0000' AND m.sole = 1;

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
