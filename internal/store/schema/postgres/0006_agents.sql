-- +goose Up
-- Phones and other programs that fetch deliveries. limits is JSON, or null for the usual ones.
CREATE TABLE agents (
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
CREATE TABLE agent_claims (
  tenant text COLLATE "C" NOT NULL,
  agent text COLLATE "C" NOT NULL,
  claim_id text COLLATE "C" NOT NULL,
  deliveries text NOT NULL DEFAULT '',
  created_at bigint NOT NULL,
  expires_at bigint NOT NULL,
  PRIMARY KEY (tenant, agent, claim_id)
);
CREATE INDEX agent_claims_expiry ON agent_claims (expires_at);

-- The log of requests to send.
CREATE TABLE receive_log (
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
CREATE INDEX receive_log_tenant ON receive_log (tenant, at, id);
CREATE INDEX receive_log_delivery ON receive_log (delivery);
CREATE INDEX receive_log_age ON receive_log (at);

-- The log of hand-outs: who was handed a delivery with which token.
CREATE TABLE send_log (
  delivery text COLLATE "C" NOT NULL,
  token bigint NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  at bigint NOT NULL,
  agent text COLLATE "C" NOT NULL,
  claim_id text COLLATE "C" NOT NULL DEFAULT '',
  request text NOT NULL DEFAULT '',
  PRIMARY KEY (delivery, token)
);
CREATE INDEX send_log_tenant ON send_log (tenant, at, delivery, token);
CREATE INDEX send_log_age ON send_log (at);

-- The log of reports. A report id is one agent's.
CREATE TABLE report_log (
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
CREATE INDEX report_log_tenant ON report_log (tenant, at, id) WHERE at > 0;
CREATE INDEX report_log_delivery ON report_log (delivery, agent, id);
CREATE INDEX report_log_age ON report_log (at);

-- How many deliveries of a pulled channel there are of a kind: the sum over its slots, so that writers do not wait for each other.
CREATE TABLE tallies (
  tenant text COLLATE "C" NOT NULL,
  channel text COLLATE "C" NOT NULL,
  bucket text COLLATE "C" NOT NULL,
  slot integer NOT NULL,
  n bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (tenant, channel, bucket, slot)
);

-- The contents of sensitive messages, encrypted, until they are forgotten.
CREATE TABLE sealed (
  message text COLLATE "C" NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  body text NOT NULL,
  forget_at bigint NOT NULL,
  PRIMARY KEY (message)
);
CREATE INDEX sealed_forget ON sealed (forget_at);

-- The texts of the SMS front door. The document's own name for them, sms_templates, is that of a view.
CREATE TABLE sms_texts (
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
CREATE TABLE default_sms (
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
