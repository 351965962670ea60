-- +goose Up
-- What there is once: the epoch, and when this database was made.
CREATE TABLE posthouse_meta (
  name TEXT NOT NULL,
  value TEXT NOT NULL DEFAULT '',
  PRIMARY KEY (name)
) WITHOUT ROWID;

-- A message never changes after it was accepted. One to a single recipient carries its delivery, from user_id on, and sole is
-- 1 while that is clean: waiting for its first attempt (posthouse_due), in it (posthouse_flights) or sent by it
-- (posthouse_sent). What takes another course becomes a row of posthouse_queue or posthouse_settled.
CREATE TABLE posthouse_messages (
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
  options TEXT NOT NULL DEFAULT '',
  user_id TEXT NOT NULL DEFAULT '',
  address TEXT NOT NULL DEFAULT '',
  recipient_type TEXT NOT NULL DEFAULT '',
  account TEXT NOT NULL DEFAULT '',
  idem_key TEXT NOT NULL DEFAULT '',
  policy TEXT NOT NULL DEFAULT '',
  epoch INTEGER NOT NULL DEFAULT 0,
  due_at INTEGER NOT NULL DEFAULT 0,
  sole INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (id)
);
CREATE INDEX posthouse_messages_ref ON posthouse_messages (tenant, kind, ref, id) WHERE ref <> '';
CREATE INDEX posthouse_messages_user ON posthouse_messages (tenant, user_id, id) WHERE user_id <> '';

-- The clean deliveries that wait for their first attempt: the key is the row.
CREATE TABLE posthouse_due (
  tenant TEXT NOT NULL,
  channel TEXT NOT NULL,
  priority INTEGER NOT NULL,
  due_at INTEGER NOT NULL,
  id TEXT NOT NULL,
  PRIMARY KEY (tenant, channel, priority, due_at, id)
) WITHOUT ROWID;

-- The clean deliveries in their first attempt, a row a claim: ids is a JSON array and accounts
-- the accounts of these by their places (none where the channel has one without a name), gone names those that took another course.
CREATE TABLE posthouse_flights (
  id TEXT NOT NULL,
  tenant TEXT NOT NULL,
  channel TEXT NOT NULL,
  priority INTEGER NOT NULL,
  accounts TEXT NOT NULL DEFAULT '',
  owner TEXT NOT NULL,
  epoch INTEGER NOT NULL,
  started_at INTEGER NOT NULL,
  lease_until INTEGER NOT NULL,
  ids TEXT NOT NULL,
  gone TEXT NOT NULL DEFAULT '',
  PRIMARY KEY (id)
);
CREATE INDEX posthouse_flights_lease ON posthouse_flights (lease_until);

-- The clean deliveries that were sent by their first attempt, with the history of that.
CREATE TABLE posthouse_sent (
  id TEXT NOT NULL,
  tenant TEXT NOT NULL,
  channel TEXT NOT NULL,
  at INTEGER NOT NULL,
  started_at INTEGER NOT NULL,
  lease_until INTEGER NOT NULL,
  owner TEXT NOT NULL,
  epoch INTEGER NOT NULL,
  account TEXT NOT NULL DEFAULT '',
  class TEXT NOT NULL DEFAULT '',
  code TEXT NOT NULL DEFAULT '',
  ref TEXT NOT NULL DEFAULT '',
  request TEXT NOT NULL DEFAULT '',
  response TEXT NOT NULL DEFAULT '',
  PRIMARY KEY (id)
);

-- The open deliveries: narrow rows that move fast and leave when they settle.
CREATE TABLE posthouse_queue (
  id TEXT NOT NULL,
  tenant TEXT NOT NULL,
  channel TEXT NOT NULL,
  account TEXT NOT NULL DEFAULT '',
  pin TEXT NOT NULL DEFAULT '',
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
  notification TEXT NOT NULL DEFAULT '',
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
CREATE INDEX posthouse_queue_due ON posthouse_queue (tenant, channel, priority, pin, due_at, id) WHERE state = 'pending';
CREATE INDEX posthouse_queue_lease ON posthouse_queue (lease_until) WHERE state = 'sending';
CREATE INDEX posthouse_queue_unknown ON posthouse_queue (due_at) WHERE state = 'unknown' AND due_at > 0;
CREATE INDEX posthouse_queue_deadline ON posthouse_queue (deadline) WHERE deadline > 0;
CREATE INDEX posthouse_queue_stuck ON posthouse_queue (tenant, state, id) WHERE state IN ('unknown', 'quarantined');
CREATE INDEX posthouse_queue_user ON posthouse_queue (tenant, user_id, id) WHERE user_id <> '';

-- The settled deliveries, in the columns of the queue.
CREATE TABLE posthouse_settled (
  id TEXT NOT NULL,
  tenant TEXT NOT NULL,
  channel TEXT NOT NULL,
  account TEXT NOT NULL DEFAULT '',
  pin TEXT NOT NULL DEFAULT '',
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
  notification TEXT NOT NULL DEFAULT '',
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
CREATE INDEX posthouse_settled_user ON posthouse_settled (tenant, user_id, id) WHERE user_id <> '';
CREATE INDEX posthouse_settled_trouble ON posthouse_settled (tenant, state, id, channel, reason) WHERE state IN ('failed', 'undelivered', 'expired', 'suppressed', 'cancelled');

-- The event log: one row for each transition, in the transaction that made it.
CREATE TABLE posthouse_transitions (
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
CREATE TABLE posthouse_idempotency (
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
CREATE INDEX posthouse_idempotency_expiry ON posthouse_idempotency (expires_at);
CREATE INDEX posthouse_idempotency_owner ON posthouse_idempotency (owner);

-- Which message a dedup_key stands for, until its window closes.
CREATE TABLE posthouse_dedup (
  tenant TEXT NOT NULL,
  channel TEXT NOT NULL,
  dedup_key TEXT NOT NULL,
  message_id TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  PRIMARY KEY (tenant, channel, dedup_key)
) WITHOUT ROWID;
CREATE INDEX posthouse_dedup_expiry ON posthouse_dedup (expires_at);

-- Messages that callers hand in within their own transactions; the relay moves them on.
-- A plain INSERT needs the draft alone. seq keeps the order of rows that were written at one moment.
CREATE TABLE posthouse_outbox (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE DEFAULT (lower(hex(randomblob(16)))),
  tenant TEXT NOT NULL DEFAULT 'default',
  draft TEXT NOT NULL,
  created_at INTEGER NOT NULL DEFAULT (CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER)),
  error TEXT NOT NULL DEFAULT '',
  failed_at INTEGER NOT NULL DEFAULT 0,
  failures INTEGER NOT NULL DEFAULT 0,
  due_at INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX posthouse_outbox_due ON posthouse_outbox (due_at, created_at, seq);

-- The configured channels; secrets in config are sealed. fleet rises with every change of its accounts.
CREATE TABLE posthouse_channels (
  tenant TEXT NOT NULL,
  name TEXT NOT NULL,
  driver TEXT NOT NULL,
  config TEXT NOT NULL DEFAULT '',
  settings TEXT NOT NULL DEFAULT '',
  paused INTEGER NOT NULL DEFAULT 0,
  pause_reason TEXT NOT NULL DEFAULT '',
  paused_until INTEGER NOT NULL DEFAULT 0,
  version INTEGER NOT NULL DEFAULT 1,
  fleet INTEGER NOT NULL DEFAULT 0,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (tenant, name)
);

-- The accounts that a channel sends by, where it has several; secrets in config are sealed.
CREATE TABLE posthouse_accounts (
  tenant TEXT NOT NULL,
  channel TEXT NOT NULL,
  name TEXT NOT NULL,
  config TEXT NOT NULL DEFAULT '',
  settings TEXT NOT NULL DEFAULT '',
  paused INTEGER NOT NULL DEFAULT 0,
  pause_reason TEXT NOT NULL DEFAULT '',
  paused_until INTEGER NOT NULL DEFAULT 0,
  version INTEGER NOT NULL DEFAULT 1,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (tenant, channel, name)
);

-- Accounts that a provider refused: parked until a time, then probed.
CREATE TABLE posthouse_gates (
  tenant TEXT NOT NULL,
  channel TEXT NOT NULL,
  account TEXT NOT NULL,
  until_at INTEGER NOT NULL DEFAULT 0,
  class TEXT NOT NULL,
  code TEXT NOT NULL DEFAULT '',
  error TEXT NOT NULL DEFAULT '',
  refusals INTEGER NOT NULL DEFAULT 0,
  learned INTEGER NOT NULL DEFAULT 0,
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (tenant, channel, account)
);

-- How the attempts of each minute ended: n of them, ms of calls together. minute counts from 1970. Statistics, written about once a
-- second; what a process had counted when it was killed is missing. After 90 days the minutes of an hour become a row of posthouse_hours.
CREATE TABLE posthouse_minutes (
  minute INTEGER NOT NULL,
  tenant TEXT NOT NULL,
  channel TEXT NOT NULL,
  account TEXT NOT NULL,
  type TEXT NOT NULL,
  outcome TEXT NOT NULL,
  n INTEGER NOT NULL,
  ms INTEGER NOT NULL,
  PRIMARY KEY (minute, tenant, channel, account, type, outcome)
) WITHOUT ROWID;

-- The same by the hour, of what is older.
CREATE TABLE posthouse_hours (
  hour INTEGER NOT NULL,
  tenant TEXT NOT NULL,
  channel TEXT NOT NULL,
  account TEXT NOT NULL,
  type TEXT NOT NULL,
  outcome TEXT NOT NULL,
  n INTEGER NOT NULL,
  ms INTEGER NOT NULL,
  PRIMARY KEY (hour, tenant, channel, account, type, outcome)
) WITHOUT ROWID;

-- The counts of minutes without what tells accounts and contents apart: what charts of minutes are drawn from. Kept for a day.
CREATE TABLE posthouse_pulse (
  minute INTEGER NOT NULL,
  tenant TEXT NOT NULL,
  channel TEXT NOT NULL,
  outcome TEXT NOT NULL,
  n INTEGER NOT NULL,
  PRIMARY KEY (minute, tenant, channel, outcome)
) WITHOUT ROWID;

-- The same by the hour, without what tells accounts and contents apart: what charts of days and months are drawn from. One row a key and hour
-- however large a fleet is, written with the minutes, for as long as the database.
CREATE TABLE posthouse_totals (
  tenant TEXT NOT NULL,
  hour INTEGER NOT NULL,
  channel TEXT NOT NULL,
  outcome TEXT NOT NULL,
  n INTEGER NOT NULL,
  PRIMARY KEY (tenant, hour, channel, outcome)
) WITHOUT ROWID;

-- How fast accounts could go, once a minute for those that had called: the rate in millionths of a call a second, and what it was made of,
-- in millionths. A row for each process that sent by the account. minute counts from 1970. Kept for a day.
CREATE TABLE posthouse_rates (
  tenant TEXT NOT NULL,
  channel TEXT NOT NULL,
  account TEXT NOT NULL,
  minute INTEGER NOT NULL,
  process INTEGER NOT NULL,
  rate INTEGER NOT NULL,
  base INTEGER NOT NULL,
  by_health INTEGER NOT NULL,
  by_success INTEGER NOT NULL,
  by_load INTEGER NOT NULL,
  by_time INTEGER NOT NULL,
  reason TEXT NOT NULL,
  PRIMARY KEY (tenant, channel, account, minute, process)
) WITHOUT ROWID;
CREATE INDEX posthouse_rates_minute ON posthouse_rates (minute);

-- The processes that work on this database, or did in the last day: each says every few seconds that it is there, and takes its row away when it
-- stops. id is the owner of its leases, schema_version the newest that it knows, keyring a fingerprint of its keys, key_id the newest of them.
CREATE TABLE posthouse_processes (
  id TEXT NOT NULL PRIMARY KEY,
  host TEXT NOT NULL,
  version TEXT NOT NULL,
  schema_version INTEGER NOT NULL,
  epoch INTEGER NOT NULL,
  key_id TEXT NOT NULL,
  keyring TEXT NOT NULL,
  accept_only INTEGER NOT NULL,
  untrusted INTEGER NOT NULL,
  started_at INTEGER NOT NULL,
  seen_at INTEGER NOT NULL
) WITHOUT ROWID;

-- What an installation knows of providers besides what ships: the files as they were added.
CREATE TABLE posthouse_presets (
  tenant TEXT NOT NULL,
  name TEXT NOT NULL,
  version INTEGER NOT NULL,
  body TEXT NOT NULL,
  shapes TEXT NOT NULL,
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (tenant, name)
) WITHOUT ROWID;

-- Every version of every template.
CREATE TABLE posthouse_templates (
  tenant TEXT NOT NULL,
  name TEXT NOT NULL,
  version INTEGER NOT NULL,
  title TEXT NOT NULL DEFAULT '',
  body TEXT NOT NULL DEFAULT '',
  lenient INTEGER NOT NULL DEFAULT 0,
  created_at INTEGER NOT NULL,
  external_id TEXT NOT NULL DEFAULT '',
  parameters TEXT NOT NULL DEFAULT '',
  disabled INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (tenant, name, version)
);

-- Every version of every route: doc is its steps and how they follow one another, as JSON.
CREATE TABLE posthouse_routes (
  tenant TEXT NOT NULL,
  name TEXT NOT NULL,
  version INTEGER NOT NULL,
  doc TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (tenant, name, version)
) WITHOUT ROWID;

-- Who is on duty: the roster itself.
CREATE TABLE posthouse_rosters (
  tenant TEXT NOT NULL,
  name TEXT NOT NULL,
  hand_over TEXT NOT NULL DEFAULT '',
  time_zone TEXT NOT NULL DEFAULT '',
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (tenant, name)
);

-- Days a roster knows; an override with nobody on duty is a day without entries.
CREATE TABLE posthouse_roster_days (
  tenant TEXT NOT NULL,
  roster TEXT NOT NULL,
  day TEXT NOT NULL,
  PRIMARY KEY (tenant, roster, day)
);

-- Who is on duty on a day: 1 to 7 (Monday = 1), or a date.
CREATE TABLE posthouse_roster_entries (
  tenant TEXT NOT NULL,
  roster TEXT NOT NULL,
  day TEXT NOT NULL,
  user_id TEXT NOT NULL,
  position INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (tenant, roster, day, user_id)
) WITHOUT ROWID;

-- The directory.
CREATE TABLE posthouse_users (
  tenant TEXT NOT NULL,
  id TEXT NOT NULL,
  name TEXT NOT NULL DEFAULT '',
  type TEXT NOT NULL DEFAULT '',
  addresses TEXT NOT NULL DEFAULT '',
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (tenant, id)
);

-- Keys of the API; only a hash of the secret is kept.
CREATE TABLE posthouse_api_keys (
  id TEXT NOT NULL,
  tenant TEXT NOT NULL,
  name TEXT NOT NULL,
  scope TEXT NOT NULL,
  hash TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  revoked_at INTEGER NOT NULL DEFAULT 0,
  agent TEXT NOT NULL DEFAULT '',
  note TEXT NOT NULL DEFAULT '',
  expires_at INTEGER NOT NULL DEFAULT 0,
  last_used_at INTEGER NOT NULL DEFAULT 0,
  limits TEXT NOT NULL DEFAULT '',
  PRIMARY KEY (id)
);

-- What people have said of a tenant. One that has things and no row is one too. quota is JSON, empty for none.
CREATE TABLE posthouse_tenants (
  name TEXT NOT NULL,
  note TEXT NOT NULL DEFAULT '',
  quota TEXT NOT NULL DEFAULT '',
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (name)
);

-- The messages that count against a key's quota of open deliveries: of keys that have one, until the count finds them settled.
CREATE TABLE posthouse_charges (
  key_id TEXT NOT NULL,
  message TEXT NOT NULL,
  PRIMARY KEY (key_id, message)
);

-- The lines of ordering keys in which something stands: which message was admitted last, and when to look who is next.
CREATE TABLE posthouse_lines (
  tenant TEXT NOT NULL,
  channel TEXT NOT NULL,
  line TEXT NOT NULL,
  holder TEXT NOT NULL DEFAULT '',
  since INTEGER NOT NULL DEFAULT 0,
  look_at INTEGER NOT NULL,
  PRIMARY KEY (tenant, channel, line)
);
CREATE INDEX posthouse_lines_look ON posthouse_lines (look_at);
CREATE INDEX posthouse_lines_holder ON posthouse_lines (holder);

-- Who changed what, of configuration, keys and deliveries. Rows are only added; they go when their time is over.
CREATE TABLE posthouse_audit (
  id TEXT NOT NULL,
  tenant TEXT NOT NULL,
  at INTEGER NOT NULL,
  key_id TEXT NOT NULL DEFAULT '',
  key_name TEXT NOT NULL DEFAULT '',
  source TEXT NOT NULL DEFAULT '',
  action TEXT NOT NULL,
  target TEXT NOT NULL DEFAULT '',
  note TEXT NOT NULL DEFAULT '',
  affected INTEGER NOT NULL DEFAULT 0,
  detail TEXT NOT NULL DEFAULT '',
  keep_until INTEGER NOT NULL,
  PRIMARY KEY (id)
);
CREATE INDEX posthouse_audit_tenant ON posthouse_audit (tenant, id);
CREATE INDEX posthouse_audit_age ON posthouse_audit (keep_until);

-- The hash chain over what is stored, where it is switched on: a row a link.
CREATE TABLE posthouse_checkpoints (
  seq INTEGER NOT NULL,
  at INTEGER NOT NULL,
  pass INTEGER NOT NULL,
  low_id TEXT NOT NULL DEFAULT '',
  high_id TEXT NOT NULL DEFAULT '',
  keep INTEGER NOT NULL,
  messages INTEGER NOT NULL,
  body_hash TEXT NOT NULL,
  prev TEXT NOT NULL DEFAULT '',
  hash TEXT NOT NULL,
  body TEXT NOT NULL DEFAULT '',
  PRIMARY KEY (seq)
);

-- Shared limits: the state of all windows of one key.
CREATE TABLE posthouse_limits (
  name TEXT NOT NULL,
  state TEXT NOT NULL DEFAULT '',
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (name)
) WITHOUT ROWID;

INSERT INTO posthouse_meta (name, value) VALUES ('epoch', '1'), ('feed', '');

-- What is to be done at a time, and what is known so far: reminders, and the tasks of workflows. next_at 0 is never.
CREATE TABLE posthouse_plans (
  tenant TEXT NOT NULL,
  type TEXT NOT NULL,
  id TEXT NOT NULL,
  kind TEXT NOT NULL DEFAULT '',
  ref TEXT NOT NULL DEFAULT '',
  state TEXT NOT NULL DEFAULT '',
  doc TEXT NOT NULL DEFAULT '',
  version INTEGER NOT NULL DEFAULT 1,
  next_at INTEGER NOT NULL DEFAULT 0,
  failures INTEGER NOT NULL DEFAULT 0,
  error TEXT NOT NULL DEFAULT '',
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (tenant, type, id)
);
CREATE INDEX posthouse_plans_due ON posthouse_plans (next_at, id) WHERE next_at > 0;
CREATE INDEX posthouse_plans_ref ON posthouse_plans (tenant, type, kind, ref, id) WHERE ref <> '';
CREATE INDEX posthouse_plans_state ON posthouse_plans (tenant, type, state, id) WHERE state <> '';
CREATE INDEX posthouse_plans_over ON posthouse_plans (updated_at) WHERE next_at = 0;

-- Who has which role.
CREATE TABLE posthouse_user_roles (
  tenant TEXT NOT NULL,
  role TEXT NOT NULL,
  user_id TEXT NOT NULL,
  PRIMARY KEY (tenant, role, user_id)
);
CREATE INDEX posthouse_user_roles_user ON posthouse_user_roles (tenant, user_id);

-- By which words users are found: lower-case parts of names, and addresses.
CREATE TABLE posthouse_user_words (
  tenant TEXT NOT NULL,
  word TEXT NOT NULL,
  user_id TEXT NOT NULL,
  PRIMARY KEY (tenant, word, user_id)
) WITHOUT ROWID;
CREATE INDEX posthouse_user_words_user ON posthouse_user_words (tenant, user_id);

-- Deliveries that were sent and whose receipts have to be asked for.
CREATE TABLE posthouse_awaited (
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
CREATE INDEX posthouse_awaited_due ON posthouse_awaited (due_at, delivery);
CREATE INDEX posthouse_awaited_ref ON posthouse_awaited (ref);

-- Access tokens of providers, sealed, shared by all processes; the holder is refreshing it.
CREATE TABLE posthouse_tokens (
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
CREATE TABLE posthouse_notify_marks (
  job TEXT NOT NULL,
  tenant TEXT NOT NULL,
  status INTEGER NOT NULL DEFAULT -1,
  deleted INTEGER NOT NULL DEFAULT 0,
  update_by TEXT NOT NULL DEFAULT '',
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (tenant, job)
);
CREATE INDEX posthouse_notify_marks_age ON posthouse_notify_marks (updated_at);

-- The numbers that jobs of the compatibility face have, for callers whose ids are whole numbers.
CREATE TABLE posthouse_job_numbers (
  number INTEGER NOT NULL,
  job TEXT NOT NULL,
  tenant TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (tenant, number)
);
CREATE UNIQUE INDEX posthouse_job_numbers_job ON posthouse_job_numbers (tenant, job);
CREATE INDEX posthouse_job_numbers_age ON posthouse_job_numbers (created_at);

-- Phones and other programs that fetch deliveries. limits is JSON, or null for the usual ones.
CREATE TABLE posthouse_agents (
  tenant TEXT NOT NULL,
  id TEXT NOT NULL,
  name TEXT NOT NULL DEFAULT '',
  channels TEXT NOT NULL DEFAULT '',
  capabilities TEXT NOT NULL DEFAULT '',
  limits TEXT NOT NULL DEFAULT '',
  state TEXT NOT NULL,
  reason TEXT NOT NULL DEFAULT '',
  key_id TEXT NOT NULL DEFAULT '',
  app TEXT NOT NULL DEFAULT '',
  last_seen_at INTEGER NOT NULL DEFAULT 0,
  version INTEGER NOT NULL DEFAULT 1,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (tenant, id)
);

-- What an agent was handed by a claim that it may repeat: deliveries is JSON, ids with tokens.
CREATE TABLE posthouse_agent_claims (
  tenant TEXT NOT NULL,
  agent TEXT NOT NULL,
  claim_id TEXT NOT NULL,
  deliveries TEXT NOT NULL DEFAULT '',
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  PRIMARY KEY (tenant, agent, claim_id)
);
CREATE INDEX posthouse_agent_claims_expiry ON posthouse_agent_claims (expires_at);

-- The log of requests to send.
CREATE TABLE posthouse_receive_log (
  id TEXT NOT NULL,
  tenant TEXT NOT NULL,
  at INTEGER NOT NULL,
  delivery TEXT NOT NULL DEFAULT '',
  request_id TEXT NOT NULL DEFAULT '',
  phone TEXT NOT NULL DEFAULT '',
  content TEXT NOT NULL DEFAULT '',
  templated INTEGER NOT NULL DEFAULT 0,
  source_ip TEXT NOT NULL DEFAULT '',
  user_agent TEXT NOT NULL DEFAULT '',
  request TEXT NOT NULL DEFAULT '',
  response TEXT NOT NULL DEFAULT '',
  status INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (id)
);
CREATE INDEX posthouse_receive_log_tenant ON posthouse_receive_log (tenant, at, id);
CREATE INDEX posthouse_receive_log_delivery ON posthouse_receive_log (delivery);
CREATE INDEX posthouse_receive_log_age ON posthouse_receive_log (at);

-- The log of hand-outs: who was handed a delivery with which token.
CREATE TABLE posthouse_send_log (
  delivery TEXT NOT NULL,
  token INTEGER NOT NULL,
  tenant TEXT NOT NULL,
  at INTEGER NOT NULL,
  agent TEXT NOT NULL,
  claim_id TEXT NOT NULL DEFAULT '',
  request TEXT NOT NULL DEFAULT '',
  PRIMARY KEY (delivery, token)
);
CREATE INDEX posthouse_send_log_tenant ON posthouse_send_log (tenant, at, delivery, token);
CREATE INDEX posthouse_send_log_age ON posthouse_send_log (at);

-- The log of reports. A report id is one agent's.
CREATE TABLE posthouse_report_log (
  id TEXT NOT NULL,
  tenant TEXT NOT NULL,
  at INTEGER NOT NULL,
  delivery TEXT NOT NULL,
  agent TEXT NOT NULL,
  report_id TEXT NOT NULL,
  token INTEGER NOT NULL DEFAULT 0,
  outcome TEXT NOT NULL,
  code TEXT NOT NULL DEFAULT '',
  error TEXT NOT NULL DEFAULT '',
  retry INTEGER NOT NULL DEFAULT 0,
  ref TEXT NOT NULL DEFAULT '',
  request TEXT NOT NULL DEFAULT '',
  answer TEXT NOT NULL,
  state TEXT NOT NULL DEFAULT '',
  PRIMARY KEY (tenant, agent, report_id)
);
CREATE INDEX posthouse_report_log_tenant ON posthouse_report_log (tenant, at, id) WHERE at > 0;
CREATE INDEX posthouse_report_log_delivery ON posthouse_report_log (delivery, agent, id);
CREATE INDEX posthouse_report_log_age ON posthouse_report_log (at);

-- How many deliveries of a pulled channel there are of a kind: the sum over its slots, so that writers do not wait for each other.
CREATE TABLE posthouse_tallies (
  tenant TEXT NOT NULL,
  channel TEXT NOT NULL,
  bucket TEXT NOT NULL,
  slot INTEGER NOT NULL,
  n INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (tenant, channel, bucket, slot)
);

-- The contents of sensitive messages, encrypted, until they are forgotten.
CREATE TABLE posthouse_sealed (
  message TEXT NOT NULL,
  tenant TEXT NOT NULL,
  body TEXT NOT NULL,
  forget_at INTEGER NOT NULL,
  PRIMARY KEY (message)
);
CREATE INDEX posthouse_sealed_forget ON posthouse_sealed (forget_at);

-- The texts of the SMS front door. The document's own name for them, sms_templates, is that of a view.
CREATE TABLE posthouse_sms_texts (
  tenant TEXT NOT NULL,
  id INTEGER NOT NULL,
  name TEXT NOT NULL DEFAULT '',
  body TEXT NOT NULL DEFAULT '',
  active INTEGER NOT NULL DEFAULT 1,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (tenant, id)
);

-- What a phone is sent where a request has no content. sent is set by an import alone: else the dedup key of the generation says it.
CREATE TABLE posthouse_default_sms (
  tenant TEXT NOT NULL,
  phone TEXT NOT NULL,
  body TEXT NOT NULL DEFAULT '',
  templated INTEGER NOT NULL DEFAULT 0,
  generation INTEGER NOT NULL DEFAULT 1,
  sent INTEGER NOT NULL DEFAULT 0,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (tenant, phone)
);

-- Lists of people that campaigns are sent to, and how far their imports are. The name of one that belongs to a campaign alone is its id.
CREATE TABLE posthouse_audiences (
  id TEXT NOT NULL,
  tenant TEXT NOT NULL,
  name TEXT NOT NULL,
  channel TEXT NOT NULL DEFAULT '',
  state TEXT NOT NULL,
  format TEXT NOT NULL DEFAULT '',
  header TEXT NOT NULL DEFAULT '',
  skipping INTEGER NOT NULL DEFAULT 0,
  file_offset INTEGER NOT NULL DEFAULT 0,
  line INTEGER NOT NULL DEFAULT 1,
  digest TEXT NOT NULL DEFAULT '',
  sha256 TEXT NOT NULL DEFAULT '',
  last_seq INTEGER NOT NULL DEFAULT 0,
  members INTEGER NOT NULL DEFAULT 0,
  repeated INTEGER NOT NULL DEFAULT 0,
  refused INTEGER NOT NULL DEFAULT 0,
  fields TEXT NOT NULL DEFAULT '',
  pages INTEGER NOT NULL DEFAULT 0,
  version INTEGER NOT NULL DEFAULT 1,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (tenant, name)
);
CREATE INDEX posthouse_audiences_id ON posthouse_audiences (id);

-- What an audience is made of: packed members by the number of the first, pages of the index, marks of who stands twice, and lines that
-- were refused; under the id of a campaign, marks of whom it leaves out. Rows of 1,000 members, so that ten million take ten thousand rows.
CREATE TABLE posthouse_audience_blocks (
  audience TEXT NOT NULL,
  part TEXT NOT NULL,
  first_seq INTEGER NOT NULL,
  n INTEGER NOT NULL,
  bytes BLOB NOT NULL,
  PRIMARY KEY (audience, part, first_seq)
);

-- A campaign sends one template to an audience. rules says, as JSON, how carefully, and marks what it has noted for them.
CREATE TABLE posthouse_campaigns (
  id TEXT NOT NULL,
  tenant TEXT NOT NULL,
  name TEXT NOT NULL,
  channel TEXT NOT NULL,
  kind TEXT NOT NULL DEFAULT '',
  template TEXT NOT NULL DEFAULT '',
  template_version INTEGER NOT NULL DEFAULT 0,
  content TEXT NOT NULL DEFAULT '',
  payload TEXT NOT NULL DEFAULT '',
  list_name TEXT NOT NULL DEFAULT '',
  audience TEXT NOT NULL,
  priority INTEGER NOT NULL DEFAULT 1,
  on_unknown TEXT NOT NULL DEFAULT '',
  start_at INTEGER NOT NULL DEFAULT 0,
  deadline INTEGER NOT NULL DEFAULT 0,
  segment_size INTEGER NOT NULL,
  state TEXT NOT NULL,
  reason TEXT NOT NULL DEFAULT '',
  planned INTEGER NOT NULL DEFAULT 0,
  last_seq INTEGER NOT NULL DEFAULT 0,
  version INTEGER NOT NULL DEFAULT 1,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  started_at INTEGER NOT NULL DEFAULT 0,
  rules TEXT NOT NULL,
  marks TEXT NOT NULL,
  finished_at INTEGER NOT NULL DEFAULT 0,
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
  id TEXT NOT NULL,
  campaign TEXT NOT NULL,
  tenant TEXT NOT NULL,
  first_seq INTEGER NOT NULL,
  last_seq INTEGER NOT NULL,
  status INTEGER NOT NULL DEFAULT 0,
  reason TEXT NOT NULL DEFAULT '',
  token INTEGER NOT NULL DEFAULT 0,
  owner TEXT NOT NULL DEFAULT '',
  epoch INTEGER NOT NULL DEFAULT 0,
  lease_until INTEGER NOT NULL DEFAULT 0,
  outcomes BLOB NOT NULL,
  unsent INTEGER NOT NULL DEFAULT 0,
  started INTEGER NOT NULL DEFAULT 0,
  sent INTEGER NOT NULL DEFAULT 0,
  delivered INTEGER NOT NULL DEFAULT 0,
  undelivered INTEGER NOT NULL DEFAULT 0,
  failed INTEGER NOT NULL DEFAULT 0,
  unknown INTEGER NOT NULL DEFAULT 0,
  expired INTEGER NOT NULL DEFAULT 0,
  suppressed INTEGER NOT NULL DEFAULT 0,
  cancelled INTEGER NOT NULL DEFAULT 0,
  handed_over INTEGER NOT NULL DEFAULT 0,
  repeated INTEGER NOT NULL DEFAULT 0,
  repaired_from TEXT NOT NULL DEFAULT '',
  created_at INTEGER NOT NULL,
  finished_at INTEGER NOT NULL DEFAULT 0,
  due_at INTEGER NOT NULL DEFAULT 0,
  pass INTEGER NOT NULL DEFAULT 0,
  began_at INTEGER NOT NULL DEFAULT 0,
  doubted_at INTEGER NOT NULL DEFAULT 0,
  reasons TEXT NOT NULL,
  noted BLOB,
  accounts TEXT NOT NULL,
  via BLOB,
  receipts BLOB,
  told TEXT,
  heard_delivered INTEGER NOT NULL DEFAULT 0,
  heard_undelivered INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (id)
);
CREATE INDEX posthouse_segments_range ON posthouse_segments (campaign, first_seq);
CREATE INDEX posthouse_segments_status ON posthouse_segments (campaign, status, due_at, first_seq);
CREATE INDEX posthouse_segments_left ON posthouse_segments (status, lease_until);

-- What providers call the messages of members, packed: a receipt finds its member by it. page is -1 for what was just written, else a share of
-- the hashes; rows of one page are of different runs.
CREATE TABLE posthouse_member_refs (
  page INTEGER NOT NULL,
  tenant TEXT NOT NULL,
  channel TEXT NOT NULL,
  run TEXT NOT NULL,
  n INTEGER NOT NULL,
  until_at INTEGER NOT NULL,
  bytes BLOB NOT NULL,
  PRIMARY KEY (page, tenant, channel, run)
);
CREATE INDEX posthouse_member_refs_until ON posthouse_member_refs (until_at);

-- What happened to deliveries, in the order of positions: deliveries that reached a version in one transaction. ids is a JSON array.
CREATE TABLE posthouse_feed (
  pos INTEGER NOT NULL,
  version INTEGER NOT NULL,
  at INTEGER NOT NULL,
  ids TEXT NOT NULL,
  PRIMARY KEY (pos)
);

-- The same before it has a position, where several processes write: a position given before the commit would let readers
-- pass by what commits later.
CREATE TABLE posthouse_feed_inbox (
  id TEXT NOT NULL,
  version INTEGER NOT NULL,
  at INTEGER NOT NULL,
  ids TEXT NOT NULL,
  PRIMARY KEY (id, version)
);

-- What providers have told by themselves that is no receipt, as JSON, for who follows the feed.
CREATE TABLE posthouse_callback_events (
  id TEXT NOT NULL,
  at INTEGER NOT NULL,
  doc TEXT NOT NULL,
  PRIMARY KEY (id)
);
CREATE INDEX posthouse_callback_events_at ON posthouse_callback_events (at);

-- Files that were handed in to be sent, and their bytes. Nobody sees one that is not complete.
CREATE TABLE posthouse_media (
  id TEXT NOT NULL,
  tenant TEXT NOT NULL,
  name TEXT NOT NULL,
  type TEXT NOT NULL,
  size INTEGER NOT NULL,
  sum TEXT NOT NULL,
  complete INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  PRIMARY KEY (id)
);
CREATE INDEX posthouse_media_sum ON posthouse_media (tenant, sum);
CREATE INDEX posthouse_media_expires ON posthouse_media (expires_at);
CREATE TABLE posthouse_media_parts (
  media TEXT NOT NULL,
  n INTEGER NOT NULL,
  bytes BLOB NOT NULL,
  PRIMARY KEY (media, n)
);

-- Addresses to which nothing is sent: in one channel, or in all where channel is empty. until_at is when that ends, 0 for never.
CREATE TABLE posthouse_suppressions (
  tenant TEXT NOT NULL,
  address TEXT NOT NULL,
  channel TEXT NOT NULL DEFAULT '',
  reason TEXT NOT NULL DEFAULT '',
  source TEXT NOT NULL,
  until_at INTEGER NOT NULL DEFAULT 0,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (tenant, address, channel)
) WITHOUT ROWID;
CREATE INDEX posthouse_suppressions_until ON posthouse_suppressions (until_at) WHERE until_at > 0;

-- Where providers call us, and whose each address is.
CREATE TABLE posthouse_callbacks (
  address TEXT NOT NULL,
  tenant TEXT NOT NULL,
  channel TEXT NOT NULL,
  account TEXT NOT NULL DEFAULT '',
  created_at INTEGER NOT NULL,
  PRIMARY KEY (address)
);
CREATE INDEX posthouse_callbacks_channel ON posthouse_callbacks (tenant, channel);

-- Fronts: addresses at which senders of other makers hand in messages, each in its own form. token is the hash of what a sender shows,
-- settings is a document, and last_at is when something came, 0 for never.
CREATE TABLE posthouse_fronts (
  tenant TEXT NOT NULL,
  name TEXT NOT NULL,
  kind TEXT NOT NULL,
  token TEXT NOT NULL,
  settings TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  last_at INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (tenant, name)
);
CREATE UNIQUE INDEX posthouse_fronts_token ON posthouse_fronts (token);

-- What came last at each front, and what it became. messages is a document, shown is the body with its values masked, and body
-- is all of it, sealed.
CREATE TABLE posthouse_front_calls (
  tenant TEXT NOT NULL,
  front TEXT NOT NULL,
  id TEXT NOT NULL,
  at INTEGER NOT NULL,
  outcome TEXT NOT NULL,
  reason TEXT NOT NULL,
  messages TEXT NOT NULL,
  size INTEGER NOT NULL,
  shown TEXT NOT NULL,
  body TEXT NOT NULL,
  PRIMARY KEY (tenant, front, id)
);

-- Who may use the console. password is a hash by argon2id, empty for none: then a link alone lets in. totp is the sealed secret
-- of one-time codes, empty for none; totp_step is the last step of time whose code was taken, totp_spare has the hashes of the
-- recovery codes that are left, and totp_wrong counts wrong codes since totp_wrong_since. subject is
-- who the person is at an identity provider, empty for others.
CREATE TABLE posthouse_people (
  name TEXT NOT NULL,
  title TEXT NOT NULL DEFAULT '',
  password TEXT NOT NULL DEFAULT '',
  disabled INTEGER NOT NULL DEFAULT 0,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  seen_at INTEGER NOT NULL DEFAULT 0,
  totp TEXT NOT NULL DEFAULT '',
  totp_since INTEGER NOT NULL DEFAULT 0,
  totp_step INTEGER NOT NULL DEFAULT 0,
  totp_spare TEXT NOT NULL DEFAULT '',
  totp_wrong INTEGER NOT NULL DEFAULT 0,
  totp_wrong_since INTEGER NOT NULL DEFAULT 0,
  subject TEXT NOT NULL DEFAULT '',
  PRIMARY KEY (name)
);

-- The role that a person has in a tenant.
CREATE TABLE posthouse_person_roles (
  tenant TEXT NOT NULL,
  person TEXT NOT NULL,
  role TEXT NOT NULL,
  PRIMARY KEY (tenant, person)
);
CREATE INDEX posthouse_person_roles_person ON posthouse_person_roles (person);

-- What lets a person in: a link, once, and a session for as long as it is used; a half one still wants a one-time code. mark is the hash of what the person shows.
CREATE TABLE posthouse_passes (
  mark TEXT NOT NULL,
  kind TEXT NOT NULL,
  person TEXT NOT NULL,
  source TEXT NOT NULL DEFAULT '',
  created_at INTEGER NOT NULL,
  seen_at INTEGER NOT NULL,
  ends_at INTEGER NOT NULL,
  PRIMARY KEY (mark)
);
CREATE INDEX posthouse_passes_person ON posthouse_passes (person);
CREATE INDEX posthouse_passes_ends ON posthouse_passes (ends_at);

-- What providers have told of what is not recorded yet: it is looked at again for a while.
CREATE TABLE posthouse_heard (
  id TEXT NOT NULL,
  tenant TEXT NOT NULL,
  channel TEXT NOT NULL,
  ref TEXT NOT NULL,
  address TEXT NOT NULL DEFAULT '',
  delivered INTEGER NOT NULL DEFAULT 0,
  code TEXT NOT NULL DEFAULT '',
  error TEXT NOT NULL DEFAULT '',
  until_at INTEGER NOT NULL,
  PRIMARY KEY (id)
);
CREATE INDEX posthouse_heard_until ON posthouse_heard (until_at);

-- Who is told of what happens, at which address: doc is what was set up, as JSON; secrets are sealed. pos and place say how far it
-- has come in the feed.
CREATE TABLE posthouse_subscriptions (
  id TEXT NOT NULL,
  tenant TEXT NOT NULL,
  doc TEXT NOT NULL DEFAULT '',
  secrets TEXT NOT NULL DEFAULT '',
  state TEXT NOT NULL,
  reason TEXT NOT NULL DEFAULT '',
  pos INTEGER NOT NULL DEFAULT 0,
  place INTEGER NOT NULL DEFAULT 0,
  failures INTEGER NOT NULL DEFAULT 0,
  next_at INTEGER NOT NULL DEFAULT 0,
  last_error TEXT NOT NULL DEFAULT '',
  told_at INTEGER NOT NULL DEFAULT 0,
  told INTEGER NOT NULL DEFAULT 0,
  dead INTEGER NOT NULL DEFAULT 0,
  lease_owner TEXT NOT NULL DEFAULT '',
  lease_until INTEGER NOT NULL DEFAULT 0,
  version INTEGER NOT NULL DEFAULT 1,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (id)
);

-- What a subscriber did not take at the end of its ladder of retries.
CREATE TABLE posthouse_dead_letters (
  subscription TEXT NOT NULL,
  pos INTEGER NOT NULL,
  place INTEGER NOT NULL,
  tenant TEXT NOT NULL,
  at INTEGER NOT NULL,
  tries INTEGER NOT NULL,
  error TEXT NOT NULL DEFAULT '',
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
SELECT j.value, m.tenant, m.channel, CASE WHEN f.accounts = '' THEN m.account ELSE json_extract(f.accounts, '$[' || j.key || ']') END, '', m.priority, m.user_id, m.address, m.recipient_type, 'sending', '', '', 2, 1, 1, 0, 0, CASE WHEN m.idem_key = '' THEN j.value ELSE m.idem_key END, m.policy, '', 0, 0, '', '', f.epoch, m.created_at, f.started_at, m.due_at, m.not_before, 0, f.started_at, f.started_at, f.lease_until, f.owner
FROM posthouse_flights f, json_each(f.ids) j JOIN posthouse_messages m ON m.id = substr(j.value, 1, 22) || '0000' AND m.sole = 1
WHERE NOT EXISTS (SELECT 1 FROM posthouse_sent s WHERE s.id = j.value)
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
SELECT j.value, 2, m.tenant, f.started_at, 'start', 'pending', 'sending', 1, 1, f.owner, f.lease_until, m.due_at, '', f.epoch, CASE WHEN f.accounts = '' THEN m.account ELSE json_extract(f.accounts, '$[' || j.key || ']') END, 0, '', '', '', '', '', ''
FROM posthouse_flights f, json_each(f.ids) j JOIN posthouse_messages m ON m.id = substr(j.value, 1, 22) || '0000' AND m.sole = 1
WHERE NOT EXISTS (SELECT 1 FROM posthouse_sent s WHERE s.id = j.value)
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
DROP TABLE posthouse_transitions;
DROP TABLE posthouse_settled;
DROP TABLE posthouse_queue;
DROP TABLE posthouse_sent;
DROP TABLE posthouse_flights;
DROP TABLE posthouse_due;
DROP TABLE posthouse_messages;
DROP TABLE posthouse_meta;
