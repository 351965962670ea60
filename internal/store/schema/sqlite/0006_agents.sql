-- +goose Up
-- Phones and other programs that fetch deliveries. limits is JSON, or null for the usual ones.
CREATE TABLE agents (
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
CREATE TABLE agent_claims (
  tenant TEXT NOT NULL,
  agent TEXT NOT NULL,
  claim_id TEXT NOT NULL,
  deliveries TEXT NOT NULL DEFAULT '',
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  PRIMARY KEY (tenant, agent, claim_id)
);
CREATE INDEX agent_claims_expiry ON agent_claims (expires_at);

-- The log of requests to send.
CREATE TABLE receive_log (
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
CREATE INDEX receive_log_tenant ON receive_log (tenant, at, id);
CREATE INDEX receive_log_delivery ON receive_log (delivery);
CREATE INDEX receive_log_age ON receive_log (at);

-- The log of hand-outs: who was handed a delivery with which token.
CREATE TABLE send_log (
  delivery TEXT NOT NULL,
  token INTEGER NOT NULL,
  tenant TEXT NOT NULL,
  at INTEGER NOT NULL,
  agent TEXT NOT NULL,
  claim_id TEXT NOT NULL DEFAULT '',
  request TEXT NOT NULL DEFAULT '',
  PRIMARY KEY (delivery, token)
);
CREATE INDEX send_log_tenant ON send_log (tenant, at, delivery, token);
CREATE INDEX send_log_age ON send_log (at);

-- The log of reports. A report id is one agent's.
CREATE TABLE report_log (
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
CREATE INDEX report_log_tenant ON report_log (tenant, at, id) WHERE at > 0;
CREATE INDEX report_log_delivery ON report_log (delivery, agent, id);
CREATE INDEX report_log_age ON report_log (at);

-- How many deliveries of a pulled channel there are of a kind: the sum over its slots, so that writers do not wait for each other.
CREATE TABLE tallies (
  tenant TEXT NOT NULL,
  channel TEXT NOT NULL,
  bucket TEXT NOT NULL,
  slot INTEGER NOT NULL,
  n INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (tenant, channel, bucket, slot)
);

-- The contents of sensitive messages, encrypted, until they are forgotten.
CREATE TABLE sealed (
  message TEXT NOT NULL,
  tenant TEXT NOT NULL,
  body TEXT NOT NULL,
  forget_at INTEGER NOT NULL,
  PRIMARY KEY (message)
);
CREATE INDEX sealed_forget ON sealed (forget_at);

-- The texts of the SMS front door. The document's own name for them, sms_templates, is that of a view.
CREATE TABLE sms_texts (
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
CREATE TABLE default_sms (
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

-- +goose Down
DROP TABLE default_sms;
DROP TABLE sms_texts;
DROP TABLE sealed;
DROP TABLE tallies;
DROP TABLE report_log;
DROP TABLE send_log;
DROP TABLE receive_log;
DROP TABLE agent_claims;
DROP TABLE agents;
