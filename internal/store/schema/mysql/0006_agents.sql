-- +goose Up
-- Phones and other programs that fetch deliveries. limits is JSON, or null for the usual ones.
CREATE TABLE IF NOT EXISTS agents (
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
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- What an agent was handed by a claim that it may repeat: deliveries is JSON, ids with tokens.
CREATE TABLE IF NOT EXISTS agent_claims (
  tenant varchar(128) NOT NULL,
  agent varchar(128) NOT NULL,
  claim_id varbinary(1020) NOT NULL,
  deliveries mediumtext NOT NULL DEFAULT (''),
  created_at bigint NOT NULL,
  expires_at bigint NOT NULL,
  PRIMARY KEY (tenant, agent, claim_id),
  KEY agent_claims_expiry (expires_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- The log of requests to send.
CREATE TABLE IF NOT EXISTS receive_log (
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
  KEY receive_log_tenant (tenant, at, id),
  KEY receive_log_delivery (delivery),
  KEY receive_log_age (at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- The log of hand-outs: who was handed a delivery with which token.
CREATE TABLE IF NOT EXISTS send_log (
  delivery varchar(26) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  token bigint NOT NULL,
  tenant varchar(128) NOT NULL,
  at bigint NOT NULL,
  agent varchar(128) NOT NULL,
  claim_id varbinary(1020) NOT NULL DEFAULT '',
  request mediumtext NOT NULL DEFAULT (''),
  PRIMARY KEY (delivery, token),
  KEY send_log_tenant (tenant, at, delivery, token),
  KEY send_log_age (at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- The log of reports. A report id is one agent's.
CREATE TABLE IF NOT EXISTS report_log (
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
  KEY report_log_tenant (tenant, at, id),
  KEY report_log_delivery (delivery, agent, id),
  KEY report_log_age (at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- How many deliveries of a pulled channel there are of a kind: the sum over its slots, so that writers do not wait for each other.
CREATE TABLE IF NOT EXISTS tallies (
  tenant varchar(128) NOT NULL,
  channel varchar(128) NOT NULL,
  bucket varchar(128) NOT NULL,
  slot int NOT NULL,
  n bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (tenant, channel, bucket, slot)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- The contents of sensitive messages, encrypted, until they are forgotten.
CREATE TABLE IF NOT EXISTS sealed (
  message varchar(26) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  tenant varchar(128) NOT NULL,
  body mediumtext NOT NULL,
  forget_at bigint NOT NULL,
  PRIMARY KEY (message),
  KEY sealed_forget (forget_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- The texts of the SMS front door. The document's own name for them, sms_templates, is that of a view.
CREATE TABLE IF NOT EXISTS sms_texts (
  tenant varchar(128) NOT NULL,
  id bigint NOT NULL,
  name varchar(255) NOT NULL DEFAULT '',
  body mediumtext NOT NULL DEFAULT (''),
  active smallint NOT NULL DEFAULT 1,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  PRIMARY KEY (tenant, id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- What a phone is sent where a request has no content. sent is set by an import alone: else the dedup key of the generation says it.
CREATE TABLE IF NOT EXISTS default_sms (
  tenant varchar(128) NOT NULL,
  phone varchar(128) NOT NULL,
  body mediumtext NOT NULL DEFAULT (''),
  templated smallint NOT NULL DEFAULT 0,
  generation bigint NOT NULL DEFAULT 1,
  sent smallint NOT NULL DEFAULT 0,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  PRIMARY KEY (tenant, phone)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

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
